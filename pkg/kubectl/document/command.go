package document

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// The modes are those of files that everybody may read.
const (
	mayRead  = 0o644
	mayEnter = 0o755
)

// NewCommand returns the command generate-docs. It documents the root command that it is added to, so it is added
// after all others. It is hidden, because it is for maintainers.
func NewCommand(streams genericiooptions.IOStreams) *cobra.Command {
	dir := "docs"
	command := &cobra.Command{
		Use:                   "generate-docs [--directory=DIR]",
		DisableFlagsInUseLine: true,
		Hidden:                true,
		Short:                 "Write the help of all commands as Markdown",
		Long:                  "Write a Markdown file for each command with its description, examples and flags.",
		Args:                  cobra.NoArgs,
		Run: func(command *cobra.Command, _ []string) {
			count, err := write(command.Root(), dir)
			cmdutil.CheckErr(err)
			_, _ = fmt.Fprintf(streams.Out, "%d pages are in %s\n", count, dir)
		},
	}
	command.Flags().StringVarP(&dir, "directory", "d", dir, "The folder to write to.")
	return command
}

// write writes the pages of a command and of its subcommands, and returns their number. It replaces existing pages.
func write(command *cobra.Command, dir string) (count int, err error) {
	if err := os.MkdirAll(dir, mayEnter); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, fileOf(command)), []byte(page(command)), mayRead); err != nil {
		return 0, err
	}
	count = 1
	for _, child := range documented(command) {
		more, err := write(child, dir)
		if err != nil {
			return count, err
		}
		count += more
	}
	return count, nil
}

// documented returns the subcommands that the help shows.
func documented(command *cobra.Command) (shown []*cobra.Command) {
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() && !child.IsAdditionalHelpTopicCommand() {
			shown = append(shown, child)
		}
	}
	return shown
}

// nameOf returns how users call a command.
func nameOf(command *cobra.Command) string { return command.CommandPath() }

// fileOf returns the name of the page of a command.
func fileOf(command *cobra.Command) string {
	return strings.ReplaceAll(nameOf(command), " ", "_") + ".md"
}

// page returns the page of a command: its description, usage, examples, own flags, and links to its subcommands and
// its parent. A section without content is left out.
func page(command *cobra.Command) string {
	out := &strings.Builder{}
	section := func(heading, content string) {
		if content = strings.Trim(content, "\n"); content != "" {
			_, _ = fmt.Fprintf(out, "\n## %s\n\n```\n%s\n```\n", heading, content)
		}
	}
	// Some commands of kubectl have no long description.
	description := strings.TrimSpace(command.Long)
	if description == "" {
		description = strings.TrimSpace(command.Short)
	}
	_, _ = fmt.Fprintf(out, "# %s\n\n%s\n", nameOf(command), description)
	if command.Runnable() {
		section("Usage", command.UseLine())
	}
	section("Examples", command.Example)
	section("Flags", usages(command.NonInheritedFlags()))
	children := documented(command)
	if len(children) > 0 {
		out.WriteString("\n## Commands\n\n")
	}
	for _, child := range children {
		_, _ = fmt.Fprintf(out, "- [%s](%s): %s\n", nameOf(child), fileOf(child), child.Short)
	}
	if parent := command.Parent(); parent != nil {
		_, _ = fmt.Fprintf(out, "\nSee also [%s](%s).\n", nameOf(parent), fileOf(parent))
	}
	return out.String()
}

// usages returns the help of flags, or an empty string if none is shown.
func usages(flags *pflag.FlagSet) string {
	if !flags.HasAvailableFlags() {
		return ""
	}
	return flags.FlagUsages()
}
