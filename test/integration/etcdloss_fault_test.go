//go:build integration && fault

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// leaderKills is how often the leader of etcd is killed.
	leaderKills = 20
	// A write that reaches a follower before the election is answered after etcd's own timeout of seven seconds, and fails. So the writes
	// do not wait for each other, and an object is not written again before that.
	etcdObjects, etcdPeriod = 200, 50 * time.Millisecond
	// electionBound is the longest time without an acknowledged write that a lost member may cause. An election takes one to two seconds,
	// and the client of the server may try the lost member first. On a machine that is busy with other work, it is busyElections times
	// the longest one of a client that writes to etcd itself.
	electionBound, busyElections = 5 * time.Second, 2
)

// TestEtcdMembersAreLost kills a member of etcd, deletes its disk and replaces it, and then kills the leader 20 times, while clients
// write. No acknowledged write is lost, and writes go on after the election.
func TestEtcdMembersAreLost(t *testing.T) {
	store := startMembers(t, 3)
	s := alone(t, "members", "--etcd-servers="+strings.Join(store.endpoints(), ","))
	client := s.client(t, newNamespace(t))
	l := startOpenLoad(t, client, etcdObjects, etcdPeriod)
	plain := startPlainLoad(t, store)
	longest := func(what string) time.Duration {
		gap, usual := l.longestGap(), plain.longestGap()
		t.Logf("%s: %s without an acknowledged write, %s in etcd itself", what, gap, usual)
		assert.Less(t, gap, max(electionBound, busyElections*usual), what)
		return gap
	}
	<-time.After(time.Second)
	longest("quiet")

	lost := store[slices.Index(store, store.leader(t))]
	lost.kill()
	<-time.After(electionBound)
	longest("a member is lost")
	store.replace(t, lost)
	<-time.After(electionBound)
	longest("its disk is lost, and it is replaced")

	var gaps []time.Duration
	for range leaderKills {
		leader := store.leader(t)
		leader.kill()
		<-time.After(3 * time.Second)
		require.NoError(t, leader.start())
		store.leader(t)
		<-time.After(500 * time.Millisecond)
		gaps = append(gaps, longest("the leader is killed"))
	}
	slices.Sort(gaps)
	t.Logf("the leader was killed %d times: median %s without an acknowledged write, at most %s", leaderKills, gaps[len(gaps)/2], gaps[len(gaps)-1])
	l.finish(t)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, set := range list.Items {
		number, _ := strconv.Atoi(set.Annotations[numbered]) // Zero if no write succeeded.
		assert.GreaterOrEqual(t, number, l.highest(set.Name), "%s lost an acknowledged write", set.Name)
	}
}

// startPlainLoad writes keys of its own to etcd until the test ends, at the rate and with the pauses of the load.
func startPlainLoad(t *testing.T, store etcd) *load {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: store.endpoints(), Context: t.Context()})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{acknowledged: map[string]bool{}, last: time.Now()}
	l.every(ctx, etcdPeriod, func(count int) {
		l.note(ctx, fmt.Sprint(count), func() error {
			_, err := client.Put(ctx, fmt.Sprintf("/plain/%d", count%etcdObjects), fmt.Sprint(count))
			return err
		})
	})
	t.Cleanup(func() {
		stop()
		l.group.Wait()
		_ = client.Close()
	})
	return l
}

// highest returns the last acknowledged value of an object.
func (l *load) highest(name string) (highest int) {
	for value := range l.acknowledged {
		if text, found := strings.CutPrefix(value, name+"/"); found {
			number, _ := strconv.Atoi(text)
			highest = max(highest, number)
		}
	}
	return highest
}

// replace adds a member with an empty disk in the place of one that is dead.
func (all etcd) replace(t *testing.T, lost *member) {
	t.Helper()
	others := slices.DeleteFunc(slices.Clone(all.endpoints()), func(endpoint string) bool { return endpoint == lost.client })
	client, err := clientv3.New(clientv3.Config{Endpoints: others, Context: t.Context()})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	// etcd refuses while a member is not connected yet, and a change may fail because of an election, or take place without an answer.
	repeat := func(change func(ctx context.Context) error) {
		eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			return change(ctx) == nil
		})
	}
	repeat(func(ctx context.Context) error {
		members, err := client.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, known := range members.Members {
			if known.Name == lost.name {
				_, err = client.MemberRemove(ctx, known.ID)
			}
		}
		return err
	})
	repeat(func(ctx context.Context) error {
		_, err := client.MemberAdd(ctx, []string{lost.peer})
		if errors.Is(err, rpctypes.ErrPeerURLExist) {
			return nil
		}
		return err
	})
	for _, arg := range lost.args {
		if dir, found := strings.CutPrefix(arg, "--data-dir="); found {
			require.NoError(t, os.RemoveAll(dir))
		}
	}
	lost.args = append(lost.args, "--initial-cluster-state=existing")
	require.NoError(t, lost.start())
}
