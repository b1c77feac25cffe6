package rollout

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Spec is what the user asked for. Percentages are not resolved yet. The fields have the meaning of those of a CloneSet.
type Spec struct {
	Replicas            int
	Partition           *intstr.IntOrString
	MaxUnavailable      *intstr.IntOrString
	MaxSurge            *intstr.IntOrString
	ScaleMaxUnavailable *intstr.IntOrString
	Paused              bool
	// Quiet is true if the update takes no Pod out of service.
	Quiet bool
	// SameRevision is true if the update revision is the current revision.
	SameRevision bool
	// Rollback allows updates from the update revision back to the current one.
	Rollback bool
	// ExcludePreparingDelete does not count Pods that a preDelete hook holds as replicas.
	ExcludePreparingDelete bool
	// PreparingUpdateAsUpdate counts Pods that wait for their update's hook as updated when scaling.
	PreparingUpdateAsUpdate bool
}

// Pod is what the arithmetic needs to know about one active Pod.
type Pod struct {
	// New is true if the Pod is at the update revision.
	New             bool
	PreparingUpdate bool
	PreparingDelete bool
	// SpecifiedDelete is true if the user, or an update by recreation, picked the Pod for deletion.
	SpecifiedDelete bool
	Available       bool
}

// Diff is what has to be done. All counts are zero or more, except UpdateNum.
type Diff struct {
	// Up is how many Pods are missing. UpOld is how many of them belong to the current revision. UpLimit is how many may be created
	// now.
	Up, UpOld, UpLimit int
	// Down is how many Pods are surplus, besides Pods that are already picked for deletion (specified, or held by a preDelete
	// hook). DownOld is how many of them are at the current revision.
	Down, DownOld int
	// DeleteReadyLimit is how many available Pods may be deleted now. Pods that are picked for deletion but not available count
	// against it, because they are deleted too, and all Pods that are unavailable at once must stay within maxUnavailable.
	DeleteReadyLimit int
	// UpdateNum is how many Pods are to be updated. If negative, that many Pods return to the current revision.
	UpdateNum int
	// UpdateMaxUnavailable limits the unavailable Pods during the update.
	UpdateMaxUnavailable int
	// UseSurge is how many Pods above the replicas are wanted at the moment.
	UseSurge int
	// Partition is the resolved partition.
	Partition int
}

// knobs are the resolved numbers of a Spec.
type knobs struct{ partition, maxSurge, maxUnavailable, scaleMaxUnavailable int }

// resolve resolves the percentages. Without surge, maxUnavailable is rounded up, so that a rollout always makes progress.
func (s *Spec) resolve() (k knobs, err error) {
	if k.partition, err = Partition(s.Partition, s.Replicas); err != nil {
		return k, err
	}
	if k.maxSurge, err = scaled(s.MaxSurge, s.Replicas, 0, math.Ceil); err != nil {
		return k, fmt.Errorf("resolve maxSurge: %w", err)
	}
	round := rounding(math.Ceil)
	if k.maxSurge > 0 {
		round = math.Floor
	}
	defaultUnavailable := intstr.FromString("20%")
	maxUnavailable := s.MaxUnavailable
	if maxUnavailable == nil {
		maxUnavailable = &defaultUnavailable
	}
	if k.maxUnavailable, err = scaled(maxUnavailable, s.Replicas, 0, round); err != nil {
		return k, fmt.Errorf("resolve maxUnavailable: %w", err)
	}
	// Without surge and with a limit of 0, no serving Pod could ever be replaced. Validation allows 0 only beside a maxSurge, which a
	// strategy may not use.
	if k.maxSurge <= 0 {
		k.maxUnavailable = max(1, k.maxUnavailable)
	}
	if k.scaleMaxUnavailable, err = scaled(s.ScaleMaxUnavailable, s.Replicas, math.MaxInt32, math.Ceil); err != nil {
		return k, fmt.Errorf("resolve scaleStrategy.maxUnavailable: %w", err)
	}
	return k, nil
}

// counts are numbers of Pods. Names that end in New and Old split a number by revision. Names with scale count what is compared
// with the replicas; a Pod that a preDelete hook holds may be left out there.
type counts struct {
	total, scaleTotal, scaleOld        int
	activeNew, activeOld               int
	toDelete, toDeleteNew, toDeleteOld int
	// unavailable excludes Pods picked for deletion. unavailablePicked counts only those.
	unavailable, unavailablePicked int
	preparing, preparingOld        int
}

// count counts the active Pods.
func count(spec *Spec, pods []Pod) (c counts) {
	c.total = len(pods)
	for _, pod := range pods {
		old := !pod.New && (!spec.PreparingUpdateAsUpdate || !pod.PreparingUpdate)
		if !pod.PreparingDelete || !spec.ExcludePreparingDelete {
			c.scaleTotal++
			c.scaleOld += one(old)
			c.preparing += one(pod.PreparingDelete)
			c.preparingOld += one(pod.PreparingDelete && old)
		}
		if pod.PreparingDelete {
			c.unavailable++
			continue
		}
		c.activeNew += one(pod.New)
		c.activeOld += one(!pod.New)
		switch {
		case pod.SpecifiedDelete:
			c.toDelete++
			c.toDeleteOld += one(old)
			c.toDeleteNew += one(!old)
			c.unavailablePicked += one(!pod.Available)
		case !pod.Available:
			c.unavailable++
		}
	}
	return c
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Calculate decides how many Pods to create, delete and update. It returns an error if a number or percentage in the spec cannot
// be resolved.
func Calculate(spec Spec, pods []Pod) (Diff, error) {
	k, err := spec.resolve()
	if err != nil {
		return Diff{}, err
	}
	c := count(&spec, pods)
	// oldDiff and newDiff are how many Pods each revision has too many, or too few if negative.
	oldDiff := c.activeOld - k.partition
	newDiff := c.activeNew - (spec.Replicas - k.partition)
	// Only updates to the update revision are wanted: Pods may move from a surplus of old ones to a lack of new ones.
	if spec.SameRevision || !spec.Rollback {
		oldDiff, newDiff = max(oldDiff, 0), min(newDiff, 0)
	}
	useSurge, useSurgeOld := surge(k, c, oldDiff, newDiff, spec.Paused || spec.Quiet)
	expect, expectOld := spec.Replicas+useSurge, k.partition+useSurgeOld

	d := Diff{UseSurge: useSurge, Partition: k.partition, UpdateNum: updateNum(oldDiff, newDiff)}
	d.Up = max(expect-c.scaleTotal, 0)
	d.UpOld = max(expectOld-c.scaleOld, 0)
	// More Pods are only created while few are unavailable.
	d.UpLimit = min(d.Up, max(k.scaleMaxUnavailable-c.unavailable, 0))
	d.Down = max(c.scaleTotal-c.preparing-c.toDelete-expect, 0)
	d.DownOld = max(c.scaleOld-c.preparingOld-c.toDeleteOld-expectOld, 0)
	d.UpdateMaxUnavailable = k.maxUnavailable + c.total - spec.Replicas
	// Without a deletion, there is nothing to limit.
	if c.toDelete > 0 || d.Down > 0 || c.total > c.activeNew+c.activeOld {
		d.DeleteReadyLimit = max(d.UpdateMaxUnavailable-c.unavailable-c.unavailablePicked, 0)
	}
	// The Pods of the surge would have made room for so many updates more. Without them, a maxUnavailable of 0 would stop the update.
	if spec.Quiet {
		d.UpdateMaxUnavailable += k.maxSurge
	}
	return d, nil
}

// surge decides how many Pods above the replicas are wanted (use), and how many of those at the current revision (useOld). Surge
// replaces Pods picked for deletion or makes room for an update, whichever needs more. A pause, or an update that takes no Pod out of
// service, only stops the surge for updates. It does not set maxSurge to zero: maxUnavailable would then be rounded up, and a pause would
// make available Pods unavailable.
func surge(k knobs, c counts, oldDiff, newDiff int, withoutUpdates bool) (use, useOld int) {
	if k.maxSurge <= 0 {
		return 0, 0
	}
	scale, scaleOld := 0, 0
	if c.toDelete > 0 {
		scale = min(max(c.unavailable+c.toDelete-k.maxUnavailable, 0), c.toDelete)
		scaleOld = max(scale-c.toDeleteNew, 0)
	}
	update, updateOld := 0, 0
	if oldDiff*newDiff < 0 && !withoutUpdates {
		update = min(abs(oldDiff), abs(newDiff))
		if (abs(oldDiff) <= abs(newDiff) && oldDiff < 0) || (abs(oldDiff) > abs(newDiff) && newDiff > 0) {
			updateOld = update
		}
	}
	if scale >= update {
		use, useOld = min(k.maxSurge, scale), scaleOld
	} else {
		use, useOld = min(k.maxSurge, update), updateOld
	}
	return use, min(use, useOld)
}

// updateNum returns the smaller of the surplus on one side and the shortage on the other, with its sign. If both revisions are
// short of Pods, or both have a surplus, it returns zero. Scaling corrects that; an update would only move the problem to the
// other revision.
func updateNum(oldDiff, newDiff int) int {
	if oldDiff*newDiff > 0 {
		return 0
	}
	if abs(oldDiff) <= abs(newDiff) {
		return oldDiff
	}
	return -newDiff
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}
