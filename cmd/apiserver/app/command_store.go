package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	cliflag "k8s.io/component-base/cli/flag"

	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/operation"
	"kruise.io/kruise/pkg/apiserver/store"
)

// newStoreCommand returns the commands for the operator of a store. They work on the store itself and not through the
// API, so they are run where the store is.
func newStoreCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "store", Short: "Back up, restore, move, encrypt, defragment and fill the store", SilenceUsage: true,
	}
	command.AddCommand(newSnapshotCommand(), newRestoreCommand(), newCopyCommand(), newEncryptCommand(), newDefragmentCommand(),
		newBeginImportCommand(), newImportCommand(), newCompleteImportCommand(), newDiscardImportCommand(), newCloseCommand(), newReopenCommand(),
		newExportCommand())
	// The server's help lists the flags of the server.
	// Each command shows its own flags instead.
	for _, each := range append(command.Commands(), command) {
		cliflag.SetUsageAndHelpFunc(each, cliflag.NamedFlagSets{}, 0)
		each.SetUsageFunc(func(c *cobra.Command) error { return usage(c, c.OutOrStderr()) })
		each.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = usage(c, c.OutOrStdout()) })
	}
	return command
}

// usage prints what a command does, its flags, and its commands.
func usage(command *cobra.Command, to io.Writer) error {
	text := fmt.Appendf(nil, "%s\n\nUsage:\n  %s\n", command.Short, command.UseLine())
	for _, each := range command.Commands() {
		text = fmt.Appendf(text, "\n  %-12s %s", each.Name(), each.Short)
	}
	_, err := fmt.Fprintf(to, "%s\n%s", text, command.Flags().FlagUsages())
	return err
}

// newSnapshotCommand returns the command that takes a snapshot. The message goes to the standard error, because the
// snapshot may go to the standard output.
func newSnapshotCommand() *cobra.Command {
	from := newLocation()
	command := &cobra.Command{
		Use: "snapshot FILE", Short: "Write a snapshot of the store to a file; - is the standard output", Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if !from.embedded() { // One member, so that the snapshot has all acknowledged writes.
				from.transport.ServerList = from.transport.ServerList[:1]
			}
			opened, closeStore, err := from.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			var saved operation.Saved
			err = output(args[0], command.OutOrStdout(), func(to io.Writer) error {
				saved, err = operation.Snapshot(command.Context(), opened, to)
				return err
			})
			if err != nil {
				return err
			}
			name := "without a record"
			if saved.Record != nil {
				name = fmt.Sprintf("%s at generation %d", saved.Record.Identity, saved.Record.Generation)
			}
			return say(command.ErrOrStderr(), "Saved store %s: %d bytes\n", name, saved.Bytes)
		},
	}
	from.addFlags(command.Flags(), "")
	return command
}

// say prints a message for the operator.
func say(to io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(to, format, args...)
	return err
}

// newRestoreCommand returns the command that restores an embedded store. A running server notices the result and
// restarts with it. The revision has to be higher than every one that a client knows: if a server runs with the store,
// its revision plus a margin is enough; otherwise a much larger margin is used.
func newRestoreCommand() *cobra.Command {
	to := newLocation()
	command := &cobra.Command{
		Use: "restore FILE", Short: "Restore the embedded store from a snapshot; - is the standard input", Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			file, err := input(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			revision, running, err := to.lastRevision(command.Context())
			if err != nil {
				return err
			}
			when := "The apiserver uses it when it starts."
			if running {
				when = "The apiserver restarts with it now."
			}
			restored, err := store.Restore(command.Context(), to.dataDir, file, store.RestoreConfig{
				After: revision, Margin: revisionMargin, UnknownMargin: unknownMargin, Finish: to.markRestored,
			})
			if err != nil {
				return err
			}
			return say(command.OutOrStdout(), "Restored %d keys, %d bytes, at revision %d. %s\nIf the cluster knows this store, requests are "+
				"refused until you open it. The ConfigMap kruise-store says how.\n",
				restored.Keys, restored.Bytes, restored.Revision, when)
		},
	}
	command.Flags().StringVar(&to.dataDir, "data-dir", to.dataDir, "Directory of the embedded store. Its current content is kept in "+
		"the directory replaced below it.")
	return command
}

// markRestored marks the store in the directory, so that the guard does not open it without the operator. It starts
// the restored member for a moment.
func (l *location) markRestored(ctx context.Context, dir string) error {
	restored, stop, err := l.start(ctx, dir, l.patience)
	if err != nil {
		return err
	}
	defer stop()
	return operation.MarkRestored(ctx, restored)
}

// lastRevision returns the revision of the store if a server runs, or zero if it is not known. It connects to the socket of the server's
// store. A store without a record is empty: the server has it since the right one was lost, and its revision says nothing.
func (l *location) lastRevision(ctx context.Context) (revision int64, running bool, err error) {
	endpoint, err := store.Running(ctx, l.dataDir)
	if err != nil || endpoint == "" {
		return 0, false, err
	}
	opened, closeStore, err := l.connect(endpoint)
	if err != nil {
		return 0, false, err
	}
	defer closeStore()
	reading, err := (&guard.Etcd{Client: opened.Client, Prefix: opened.Prefix}).Read(ctx)
	if err != nil || reading.Record == nil || reading.Record.Candidate {
		return 0, true, err
	}
	return reading.Revision, true, nil
}

// newCopyCommand returns the command that copies a store. A copy from a snapshot is no move: the original may still
// be in use, so the guard asks the operator before it opens the copy.
func newCopyCommand() *cobra.Command {
	from, to := newLocation(), newLocation()
	from.dataDir, to.dataDir = "", ""
	command := &cobra.Command{
		Use: "copy", Short: "Copy the objects of a stopped store, or of a snapshot, to an empty store", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := from.onlyOne("from-snapshot, from-data-dir and from-etcd-servers"); err != nil {
				return err
			}
			if err := to.onlyOne("data-dir and etcd-servers"); err != nil {
				return err
			}
			from.anyPrefix = !command.Flags().Changed("from-etcd-prefix")
			source, closeSource, err := from.openStopped(command.Context())
			if err != nil {
				return fmt.Errorf("source: %w", err)
			}
			defer closeSource()
			copied, err := to.fill(command.Context(), source, from.snapshot == "")
			if err != nil {
				return err
			}
			record := copied.Record
			if copied.Before {
				return say(command.OutOrStdout(), "Store %s is already complete at generation %d: nothing was copied\n",
					record.Identity, record.Generation)
			}
			return say(command.OutOrStdout(), "Copied %d objects of store %s at generation %d below %s, now at generation %d and revision %d\n",
				copied.Objects, record.Identity, copied.Source.Generation, source.Prefix, record.Generation, copied.Revision)
		},
	}
	from.addFlags(command.Flags(), "from-")
	command.Flags().Lookup("from-etcd-prefix").Usage = "Prefix of all keys. Without it, the only store in the snapshot is " +
		"copied."
	command.Flags().StringVar(&from.snapshot, "from-snapshot", "", "Snapshot to copy from; - is the standard input.")
	command.Flags().DurationVar(&from.patience, "from-data-dir-lock-timeout", from.patience, "How long to wait until the server has stopped.")
	to.addFlags(command.Flags(), "")
	return command
}

// onlyOne checks that the flags name one store. flags is the list of them for the message.
func (l *location) onlyOne(flags string) error {
	named := 0
	for _, given := range []bool{l.snapshot != "", l.dataDir != "", !l.embedded()} {
		if given {
			named++
		}
	}
	if named != 1 {
		return fmt.Errorf("set exactly one of --%s (%d are set)", flags, named)
	}
	return nil
}

// fill copies a store to this location. move says that the copy replaces the source.
func (l *location) fill(ctx context.Context, source *operation.Store, move bool) (operation.Copied, error) {
	if !l.embedded() {
		target, closeTarget, err := l.connect(l.transport.ServerList...)
		if err != nil {
			return operation.Copied{}, fmt.Errorf("target: %w", err)
		}
		defer closeTarget()
		return operation.Copy(ctx, source, target, move)
	}
	return l.fillEmbedded(ctx, source, move)
}

// fillEmbedded creates the store in a temporary directory and restores it, so that its revision is as high as that of
// the source. A restoration can set the revision at once, while Copy has to write to etcd for each step. The
// directory is replaced only at the end, so an interruption leaves it as it was.
func (l *location) fillEmbedded(ctx context.Context, source *operation.Store, move bool) (operation.Copied, error) {
	status, err := source.Client.Status(ctx, source.Client.Endpoints()[0])
	if err != nil {
		return operation.Copied{}, fmt.Errorf("read the revision of the source: %w", err)
	}
	if before, err := l.copiedBefore(ctx, source, move); err != nil || before.Before {
		return before, err
	}
	dir := filepath.Join(l.dataDir, "copy")
	// The directory of an interrupted copy is removed, because it cannot be continued.
	if err := os.RemoveAll(dir); err != nil {
		return operation.Copied{}, fmt.Errorf("remove an incomplete copy: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	target, stop, err := l.start(ctx, dir, l.patience)
	if err != nil {
		return operation.Copied{}, fmt.Errorf("target: %w", err)
	}
	defer stop()
	copied, err := operation.CopyObjects(ctx, source, target, move)
	if err != nil {
		return operation.Copied{}, err
	}
	// The snapshot goes straight into the restoration, without a file in between.
	reader, writer := io.Pipe()
	go func() {
		_, err := operation.Snapshot(ctx, target, writer)
		writer.CloseWithError(err)
	}()
	restored, err := store.Restore(ctx, l.dataDir, reader, store.RestoreConfig{After: status.Header.GetRevision(), Margin: revisionMargin})
	_ = reader.Close()
	copied.Revision = restored.Revision
	return copied, err
}

// copiedBefore looks at the store that the directory holds. A directory without a store is empty, which is no error.
func (l *location) copiedBefore(ctx context.Context, source *operation.Store, move bool) (operation.Copied, error) {
	if !store.Exists(l.dataDir) {
		return operation.Copied{}, nil
	}
	current, stop, err := l.start(ctx, l.dataDir, l.patience)
	if err != nil {
		return operation.Copied{}, fmt.Errorf("target: %w", err)
	}
	defer stop()
	return operation.CopiedBefore(ctx, source, current, move)
}

// newEncryptCommand returns the command that writes objects with the current encryption key. It is run after a change
// of the first provider, so that the old key can be removed. Servers may run meanwhile.
func newEncryptCommand() *cobra.Command {
	at, config := newLocation(), ""
	command := &cobra.Command{
		Use: "encrypt", Short: "Write all objects again that are not stored with the first encryption provider", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if config == "" {
				return errors.New("set --encryption-provider-config to the file that the apiserver uses")
			}
			loaded, err := encryptionconfig.LoadEncryptionConfig(command.Context(), config, false, "")
			if err != nil {
				return fmt.Errorf("read --encryption-provider-config %s: %w", config, err)
			}
			opened, closeStore, err := at.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			// The counts are printed also after an error, because the objects are written already.
			counts, err := operation.Encrypt(command.Context(), opened, encryptionconfig.StaticTransformers(loaded.Transformers))
			for _, count := range counts {
				err = errors.Join(err, say(command.OutOrStdout(), "%s: %d of %d objects were written again\n",
					count.Resource, count.Rewritten, count.Total))
			}
			return err
		},
	}
	at.addFlags(command.Flags(), "")
	command.Flags().StringVar(&config, "encryption-provider-config", "", "File with the encryption configuration of the apiserver.")
	return command
}

// newDefragmentCommand returns the command that defragments each member.
func newDefragmentCommand() *cobra.Command {
	at := newLocation()
	command := &cobra.Command{
		Use: "defragment", Short: "Return free space of the store to the file system, one member after the other", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, closeStore, err := at.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			resumed, err := operation.Defragment(command.Context(), opened.Client, func(done operation.Defragmented) {
				_ = say(command.OutOrStdout(), "%s: %d bytes, before %d bytes\n", done.Endpoint, done.After, done.Before)
			})
			if err == nil && resumed {
				err = say(command.OutOrStdout(), "etcd was full, writes are accepted again\n")
			}
			return err
		},
	}
	at.addFlags(command.Flags(), "")
	return command
}
