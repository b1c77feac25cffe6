package apiserver

import (
	"flag"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/registry/rest"
)

// largest is about the default limit of an object, in bytes.
const largest = 3 << 19

// longList is a kind with one list to fill.
type longList struct {
	*kind
	path     listPath
	strategy rest.Strategy
	empty    runtime.Object
	// perKiB is how many elements of the list take 1 KiB in the store, and most how many an object may have.
	perKiB float64
	most   int
}

// longLists returns the lists of all kinds. If once is true, lists of a shared type are returned for one kind only.
func (w *world) longLists(t testing.TB, once bool) (lists []longList) {
	t.Helper()
	seen := map[string]bool{}
	for i := range w.kinds {
		kind := &w.kinds[i]
		object := w.stored(t, kind.StoredVersion().WithKind(kind.hub.Kind))
		paths, names := listsOf(object)
		for n, path := range paths {
			if once && seen[names[n]] {
				continue
			}
			seen[names[n]] = true
			list := longList{kind: kind, path: path, strategy: kind.main, empty: object}
			if path[0] == "Status" {
				list.strategy = kind.status
			}
			const number = 1000
			list.perKiB = number * 1024 / float64(w.size(t, kind, filled(object, path, number, "a"))-w.size(t, kind, object)+1)
			list.most = list.limit(t)
			lists = append(lists, list)
		}
	}
	return lists
}

func (w *world) size(t testing.TB, kind *kind, object runtime.Object) int {
	t.Helper()
	data, err := runtime.Encode(w.codecs.EncoderForVersion(w.protobuf, kind.StoredVersion()), object)
	require.NoError(t, err)
	return len(data)
}

// limit is how many elements of the list are allowed, about. Objects with more lists, maps and elements than the limit are refused at once.
func (l *longList) limit(t testing.TB) int {
	t.Helper()
	const limit, tooMany = 24_500, 60_000
	errs := l.strategy.Validate(l.request(t, l.StoredVersion()), filled(l.empty, l.path, tooMany, "a"))
	if len(errs) == 1 {
		if count, counted := errs[0].BadValue.(int); counted && count > limit {
			return tooMany * limit / count
		}
	}
	// The elements of a status and of objects for nodes are not counted.
	return limit
}

// refusal is how long the answers to a creation and to an update take. Every element of the list is wrong, and the update changes each.
func (l *longList) refusal(t testing.TB, size int) (create, update time.Duration) {
	t.Helper()
	ctx := l.request(t, l.StoredVersion())
	number := min(int(l.perKiB*float64(size)/1024), l.most)
	stored, changed := filled(l.empty, l.path, number, "a"), filled(l.empty, l.path, number, "b")
	created := changed.DeepCopyObject()
	began := time.Now()
	l.strategy.PrepareForCreate(ctx, created)
	_ = apierrors.NewInvalid(l.hub.GroupKind(), "name", l.strategy.Validate(ctx, created)).Error()
	_ = l.strategy.WarningsOnCreate(ctx, created)
	create = time.Since(began)
	began = time.Now()
	l.strategy.PrepareForUpdate(ctx, changed, stored)
	_ = apierrors.NewInvalid(l.hub.GroupKind(), "name", l.strategy.ValidateUpdate(ctx, changed, stored)).Error()
	_ = l.strategy.WarningsOnUpdate(ctx, changed, stored)
	return create, time.Since(began)
}

// quiet drops the log lines that core writes about each invalid value.
func quiet(t testing.TB) {
	t.Helper()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	require.NoError(t, flags.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}))
	klog.SetOutput(io.Discard)
}

// The cost of a request must grow with the size of its object, and not with its square: otherwise a user who may write in one namespace
// occupies a core for hours. The objects are an eighth of the largest ones, so that the test is quick.
// Not parallel: it compares times. A busy machine can disturb one round, so the quickest of up to five counts.
func TestWritesAreNearLinearInTheLengthOfEachList(t *testing.T) {
	quiet(t)
	const short, long, mostRatio, brief = largest / 80, largest / 8, 30, 50 * time.Millisecond
	for _, list := range newWorld(t).longLists(t, true) {
		t.Run(list.hub.Kind+" "+list.path.String(), func(t *testing.T) {
			shortest := [2]time.Duration{time.Hour, time.Hour}
			longest := shortest
			var near bool
			for round := 0; round < 5 && !near; round++ {
				near = true
				create, update := list.refusal(t, short)
				shortest = [2]time.Duration{min(shortest[0], create), min(shortest[1], update)}
				create, update = list.refusal(t, long)
				longest = [2]time.Duration{min(longest[0], create), min(longest[1], update)}
				for i := range longest {
					near = near && longest[i] < max(brief, mostRatio*shortest[i])
				}
			}
			t.Logf("create and update take %v and %v", shortest, longest)
			assert.True(t, near, "create and update of %d KiB take %v, and of %d KiB %v", short>>10, shortest, long>>10, longest)
		})
	}
}

// BenchmarkLists shows the time of the slower of creation and update for each list of each kind, with objects of 1, 10 and 100 % of the
// largest size. Run it with -benchtime 1x.
func BenchmarkLists(b *testing.B) {
	quiet(b)
	for _, list := range newWorld(b).longLists(b, false) {
		for _, percent := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/%s/%d%%", list.hub.Kind, list.path, percent), func(b *testing.B) {
				for b.Loop() {
					create, update := list.refusal(b, largest*percent/100)
					b.ReportMetric(float64(create.Microseconds())/1000, "create-ms")
					b.ReportMetric(float64(update.Microseconds())/1000, "update-ms")
				}
			})
		}
	}
}
