package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/apiserver/importer"
	"kruise.io/kruise/pkg/apiserver/operation"
	"kruise.io/kruise/pkg/features"
)

// errRefused ends an import that would not keep all objects. The report says why.
var errRefused = errors.New("nothing was imported: see refused and lost fields in the report")

// importing is how the commands of an import write to the store. The fields are the flags.
type importing struct {
	at         *location
	encryption string
	maxBytes   int
	dryRun     bool
	acceptLoss bool
}

// newImporting returns the defaults of the flags, which are those of the server.
func newImporting() *importing {
	return &importing{at: newLocation(), maxBytes: defaultMaxObjectBytes}
}

// addFlags adds the flags that all commands of an import have.
func (i *importing) addFlags(fs *pflag.FlagSet) {
	i.at.addFlags(fs, "")
	fs.IntVar(&i.maxBytes, "max-object-bytes", i.maxBytes, "Maximum size of a stored object, as for the apiserver.")
	fs.StringVar(&i.encryption, "encryption-provider-config", "", "File with the encryption configuration of the apiserver.")
}

// importReport is what the command prints.
type importReport struct {
	*importer.Report
	// Done is missing if nothing was imported.
	Done *operation.Imported `json:"done,omitempty"`
	// SpaceBytes is the space of the store before the import, or negative if etcd does not say.
	SpaceBytes int64 `json:"spaceBytes"`
	// MemoryBytes is what this process has used, beside the apiserver in the same container. MemoryLimit is the limit for both, or 0.
	MemoryBytes int64 `json:"memoryBytes"`
	MemoryLimit int64 `json:"memoryLimit,omitempty"`
}

// newImportCommand returns the command that imports objects of another server.
func newImportCommand() *cobra.Command {
	i := newImporting()
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Import objects of another server with their UIDs, one in JSON on each line; - is the standard input",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			file, err := input(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			report, err := i.run(command.Context(), file)
			if report != nil {
				printed := json.NewEncoder(command.OutOrStdout()).Encode(report)
				err = errors.Join(err, printed)
			}
			return err
		},
	}
	i.addFlags(command.Flags())
	command.Flags().BoolVar(&i.dryRun, "dry-run", false, "Only check the objects and the space of the store.")
	command.Flags().BoolVar(&i.acceptLoss, "accept-loss", false, "Import even if the report names values that this release does not keep.")
	return command
}

// run checks all objects before it writes the first one. It returns a report also with errRefused, and with an error
// of the store. A dry run makes the same checks and writes nothing.
func (i *importing) run(ctx context.Context, file io.Reader) (*importReport, error) {
	converter, err := newConverter(i.maxBytes)
	if err != nil {
		return nil, err
	}
	// All objects are in memory before the store is opened, so a stream that was cut off changes nothing.
	objects, checked, err := converter.ReadAll(ctx, file)
	if err != nil {
		return nil, err
	}
	to, closeStore, err := i.open(ctx)
	if err != nil {
		return nil, err
	}
	defer closeStore()
	report := &importReport{Report: checked, MemoryLimit: memoryLimit(os.Getenv)}
	report.MemoryBytes = memoryUsed()
	if report.SpaceBytes, err = to.Store.Space(ctx); err != nil {
		return report, err
	}
	if len(checked.Refused) > 0 || len(checked.Losses()) > 0 && !i.acceptLoss {
		return report, errRefused
	}
	// etcd keeps each version of an object until it compacts, and rewrites pages.
	if need := 2 * checked.Bytes; report.SpaceBytes >= 0 && need > report.SpaceBytes {
		return report, fmt.Errorf("the objects need %d bytes, with space for one change of each, but the store has %d bytes left: increase the "+
			"quota of etcd (--data-quota-bytes of the embedded store)", need, report.SpaceBytes)
	}
	if err := to.Check(ctx); err != nil || i.dryRun {
		return report, err
	}
	entries := make([]operation.Entry, 0, len(objects))
	for _, object := range objects {
		entries = append(entries, operation.Entry{Resource: object.Resource, Key: object.Key, Value: object.Value})
	}
	done, err := to.Import(ctx, entries)
	if err != nil {
		return report, err
	}
	report.Done = &done
	return report, nil
}

// open connects to the store. Without an encryption configuration, objects are written in plain text, as the server
// would do. The caller must call the returned function at the end.
func (i *importing) open(ctx context.Context) (*operation.Importer, func(), error) {
	transformers := encryptionconfig.StaticTransformers{}
	if i.encryption != "" {
		loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, i.encryption, false, "")
		if err != nil {
			return nil, nil, fmt.Errorf("read --encryption-provider-config %s: %w", i.encryption, err)
		}
		transformers = loaded.Transformers
	}
	opened, closeStore, err := i.at.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &operation.Importer{Store: opened, Transformers: transformers}, closeStore, nil
}

// newConverter returns a converter to what the apiserver stores. It uses the defaults of the feature gates: the
// stored version of a kind depends on none.
func newConverter(maxBytes int) (*importer.Converter, error) {
	gate, err := features.New("")
	if err != nil {
		return nil, err
	}
	scheme, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}
	mediaType := newEtcdOptions().DefaultStorageMediaType
	factory := apiserver.NewStorageFactory(gate, storagebackend.Config{}, mediaType, serializer.NewCodecFactory(scheme))
	return importer.NewConverter(scheme, factory, apiserver.Kinds(gate), maxBytes)
}

// newBeginImportCommand returns the command after which no server opens the store. It fails for a store of an
// installation with objects.
func newBeginImportCommand() *cobra.Command {
	i, replace := newImporting(), false
	command := &cobra.Command{
		Use: "begin-import", Short: "Make the apiserver close the empty store, until complete-import", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			to, closeStore, err := i.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			if replace {
				if err := to.Replace(command.Context()); err != nil {
					return err
				}
			}
			return to.Begin(command.Context())
		},
	}
	i.addFlags(command.Flags())
	command.Flags().BoolVar(&replace, "replace-closed", false,
		"Also begin in a store that store close has closed. The import deletes its objects.")
	return command
}

// newCompleteImportCommand returns the command after which servers open the store.
func newCompleteImportCommand() *cobra.Command {
	i, record := newImporting(), guard.Record{}
	command := &cobra.Command{
		Use: "complete-import", Short: "Let the apiserver open the store with the imported objects", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if record.Identity == "" || record.Cluster == "" || record.Generation < 1 {
				return errors.New("set --identity, --cluster and --generation: the store guard recognizes the store by them")
			}
			to, closeStore, err := i.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			revision, err := to.Complete(command.Context(), record)
			if err != nil {
				return err
			}
			return say(command.OutOrStdout(), "The store %s is complete at revision %d\n", record.Identity, revision)
		},
	}
	i.addFlags(command.Flags())
	command.Flags().StringVar(&record.Identity, "identity", "", "Identity of the store. If ConfigMap kruise-store exists, its identity.")
	command.Flags().Int64Var(&record.Generation, "generation", 1, "Generation of the store. If ConfigMap kruise-store exists, one "+
		"more than there.")
	command.Flags().StringVar(&record.Cluster, "cluster", "", "UID of the namespace kube-system.")
	return command
}

// newDiscardImportCommand returns the command that removes what was imported, so that the installation can start
// empty.
func newDiscardImportCommand() *cobra.Command {
	return newStepCommand("discard-import", "Remove the objects of an incomplete import or copy", (*operation.Importer).Discard)
}

// newCloseCommand returns the command that makes servers close the store. It is the first step of the way back of a
// take-over.
func newCloseCommand() *cobra.Command {
	return newStepCommand("close", "Make the apiserver close the store until reopen", (*operation.Importer).Close)
}

// newReopenCommand returns the command that undoes close.
func newReopenCommand() *cobra.Command {
	return newStepCommand("reopen", "Let the apiserver open the store that close has closed", (*operation.Importer).Reopen)
}

// newStepCommand returns a command that does one thing with the store and prints nothing.
func newStepCommand(use, short string, step func(*operation.Importer, context.Context) error) *cobra.Command {
	i := newImporting()
	command := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(command *cobra.Command, _ []string) error {
		to, closeStore, err := i.open(command.Context())
		if err != nil {
			return err
		}
		defer closeStore()
		return step(to, command.Context())
	}}
	i.addFlags(command.Flags())
	return command
}

// newExportCommand returns the command that prints all objects. Its output ends with the number of objects, so a
// reader notices if it was cut off.
func newExportCommand() *cobra.Command {
	i, versions := newImporting(), map[string]string{}
	command := &cobra.Command{
		Use: "export", Short: "Print all objects, one in JSON on each line, as import reads them", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			converter, err := newConverter(i.maxBytes)
			if err != nil {
				return err
			}
			from, closeStore, err := i.open(command.Context())
			if err != nil {
				return err
			}
			defer closeStore()
			// What an import has written so far is no backup, and older than what it was read from.
			served, err := from.Served(command.Context())
			if err != nil {
				return err
			}
			if !served {
				return importer.WriteUnserved(command.OutOrStdout())
			}
			to := bufio.NewWriter(command.OutOrStdout())
			objects, err := from.Export(command.Context(), func(resource schema.GroupResource, value []byte) error {
				data, err := converter.Export(resource, value, versions[resource.String()])
				if err == nil {
					_, err = to.Write(append(data, '\n'))
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := importer.WriteEnd(to, objects); err != nil {
				return err
			}
			return to.Flush()
		},
	}
	i.addFlags(command.Flags())
	command.Flags().StringToStringVar(&versions, "versions", versions,
		"Versions of the objects, such as clonesets.apps.kruise.io=v1alpha1. The default is the version in which each is stored.")
	return command
}
