package rest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// text is a codec that encodes only the object's name.
type text struct{ runtime.Codec }

func (text) Encode(obj runtime.Object, w io.Writer) error {
	_, err := io.WriteString(w, obj.(*sample).Name)
	return err
}

type failing struct{ runtime.Codec }

func (failing) Encode(runtime.Object, io.Writer) error { return errors.New("no") }

// oneObject is a storage with one object, or none. It accepts every write.
type oneObject struct {
	storage.Interface
	stored *sample
}

func (s *oneObject) Create(_ context.Context, _ string, obj, out runtime.Object, _ uint64) error {
	s.stored = obj.(*sample)
	s.stored.DeepCopyInto(out.(*sample))
	return nil
}

func (s *oneObject) RequestWatchProgress(context.Context) error { return nil }

func (s *oneObject) Get(_ context.Context, key string, _ storage.GetOptions, out runtime.Object) error {
	if s.stored == nil {
		return storage.NewKeyNotFoundError(key, 0)
	}
	s.stored.DeepCopyInto(out.(*sample))
	return nil
}

func (s *oneObject) GuaranteedUpdate(
	_ context.Context, _ string, out runtime.Object, _ bool, _ *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object,
) error {
	input := &sample{}
	if s.stored != nil {
		s.stored.DeepCopyInto(input)
	}
	output, _, err := update(input, storage.ResponseMeta{})
	if err == nil {
		s.stored = output.(*sample)
		s.stored.DeepCopyInto(out.(*sample))
	}
	return err
}

func (s *oneObject) GetList(_ context.Context, _ string, _ storage.ListOptions, out runtime.Object) error {
	return meta.SetList(out, []runtime.Object{s.stored.DeepCopy()})
}

func (s *oneObject) Delete(
	_ context.Context, _ string, out runtime.Object, _ *storage.Preconditions, _ storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions,
) error {
	s.stored.DeepCopyInto(out.(*sample))
	s.stored = nil
	return nil
}

func sized(size int) *sample {
	return &sample{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", size)}}
}

func limited(stored *sample) *limitedStorage {
	return &limitedStorage{
		Interface: &oneObject{stored: stored}, limit: &sizeLimit{codec: text{}, bytes: 10},
		newFunc: func() runtime.Object { return &sample{} },
	}
}

func TestSizeOfNewObjects(t *testing.T) {
	for size, tooLarge := range map[int]bool{0: false, 10: false, 11: true} {
		store := limited(nil)
		err := store.Create(t.Context(), "key", sized(size), &sample{}, 0)
		assert.Equal(t, tooLarge, apierrors.IsRequestEntityTooLargeError(err), "%d: %v", size, err)
		assert.Equal(t, tooLarge, store.Interface.(*oneObject).stored == nil)
		if tooLarge {
			assert.ErrorContains(t, err, "needs 11 bytes")
			assert.ErrorContains(t, err, "limit is 10 bytes")
		}
	}
}

func TestSizeOfChangedObjects(t *testing.T) {
	tests := map[string]struct {
		before, after int
		deleted       bool
		wantTooLarge  bool
	}{
		"within the limit":            {before: 5, after: 10},
		"grows above it":              {before: 10, after: 11, wantTooLarge: true},
		"created by an update":        {before: -1, after: 11, wantTooLarge: true},
		"stays above":                 {before: 20, after: 20},
		"shrinks, still above":        {before: 20, after: 19},
		"shrinks below":               {before: 20, after: 5},
		"grows above":                 {before: 20, after: 21, wantTooLarge: true},
		"is deleted":                  {before: 20, after: 60, deleted: true},
		"is deleted and grows a lot":  {before: 20, after: 21 + deletionBookkeeping, deleted: true, wantTooLarge: true},
		"deletion brings it above it": {before: 10, after: 60, deleted: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before *sample
			if test.before >= 0 {
				before = sized(test.before)
			}
			store := limited(before)
			err := store.GuaranteedUpdate(t.Context(), "key", &sample{}, true, nil,
				func(input runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
					output := input.(*sample) // The update may modify its input.
					output.Name = strings.Repeat("x", test.after)
					if test.deleted {
						output.DeletionTimestamp = &metav1.Time{}
					}
					return output, nil, nil
				}, nil)
			assert.Equal(t, test.wantTooLarge, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
			if !test.wantTooLarge {
				require.NoError(t, err)
			}
		})
	}
}

func TestEarlySizeCheck(t *testing.T) {
	const small, large, unknown = 5, 11, -1
	tests := map[string]struct {
		body        int64
		dryRun      []string
		old         *sample
		wantRefused bool
	}{
		"small body":            {body: small},
		"large body":            {body: large, wantRefused: true},
		"unknown body":          {body: unknown, wantRefused: true},
		"dry run":               {body: small, dryRun: []string{metav1.DryRunAll}, wantRefused: true},
		"large body that grows": {body: large, old: sized(20), wantRefused: true},
		"large body, the same":  {body: large, old: sized(30)},
		"dry run that shrinks":  {body: small, old: sized(40), dryRun: []string{metav1.DryRunAll}},
	}
	check := &earlySizeCheck{limit: &sizeLimit{codec: text{}, bytes: 10}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := WithBodySize(t.Context(), test.body)
			var err error
			if test.old == nil {
				_, err = check.beginCreate(ctx, sized(30), &metav1.CreateOptions{DryRun: test.dryRun})
			} else {
				_, err = check.beginUpdate(ctx, sized(30), test.old, &metav1.UpdateOptions{DryRun: test.dryRun})
			}
			assert.Equal(t, test.wantRefused, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
		})
	}
	_, err := check.beginUpdate(t.Context(), sized(30), sized(5), &metav1.UpdateOptions{})
	require.NoError(t, err, "no body")
	check.limit.codec = failing{}
	_, err = check.beginCreate(WithBodySize(t.Context(), large), sized(30), &metav1.CreateOptions{})
	assert.NoError(t, err, "other problems are the write's")
}
