package rollout

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Spec is what the user asked for, with percentages still unresolved.
type Spec struct {
	Replicas            int
	Partition           *intstr.IntOrString
	MaxUnavailable      *intstr.IntOrString
	MaxSurge            *intstr.IntOrString
	ScaleMaxUnavailable *intstr.IntOrString
	Paused              bool
	// SameRevision is true when the update revision is the current one.
	SameRevision bool
	// Rollback allows updates from the update revision back to the current one.
	Rollback bool
	// ExcludePreparingDelete leaves Pods that a hook holds before their deletion out of the replicas.
	ExcludePreparingDelete bool
	// PreparingUpdateAsUpdate counts Pods that wait for their update's hook as updated when scaling.
	PreparingUpdateAsUpdate bool
}

// Pod is what the arithmetic must know of one active Pod.
type Pod struct {
	// New is true at the update revision.
	New             bool
	PreparingUpdate bool
	PreparingDelete bool
	// SpecifiedDelete is true when the user, or a recreating update, picked this Pod for deletion.
	SpecifiedDelete bool
	Available       bool
}

// Diff is what is to be done. All counts are zero or more, except UpdateNum.
type Diff struct {
	// Up is how many Pods are missing, UpOld of them at the current revision, UpLimit how many may be created now.
	Up, UpOld, UpLimit int
	// Down is how many Pods are too many beside those already picked for deletion (specified, or held by a hook before it),
	// DownOld of them at the current revision.
	Down, DownOld int
	// DeleteReadyLimit is how many Pods that serve may be deleted now. A Pod picked for deletion that does not serve counts
	// against it: it goes too, and what goes at once must stay within maxUnavailable together.
	DeleteReadyLimit int
	// UpdateNum is how many Pods are to be updated; below zero, how many go back to the current revision.
	UpdateNum int
	// UpdateMaxUnavailable bounds the unavailable Pods while updating.
	UpdateMaxUnavailable int
	// UseSurge is how many Pods above the replicas are wanted for now.
	UseSurge int
	// Partition is the resolved partition.
	Partition int
}

// knobs are the resolved numbers of a Spec.
type knobs struct{ partition, maxSurge, maxUnavailable, scaleMaxUnavailable int }

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
	if k.scaleMaxUnavailable, err = scaled(s.ScaleMaxUnavailable, s.Replicas, math.MaxInt32, math.Ceil); err != nil {
		return k, fmt.Errorf("resolve scaleStrategy.maxUnavailable: %w", err)
	}
	return k, nil
}

// counts are the Pods, grouped. The names that end in New and Old split by revision.
type counts struct {
	total, scaleTotal, scaleOld        int
	activeNew, activeOld               int
	toDelete, toDeleteNew, toDeleteOld int
	// unavailable leaves Pods picked for deletion out, unavailablePicked counts only those.
	unavailable, unavailablePicked int
	preparing, preparingOld        int
}

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

// Calculate decides how many Pods to create, delete and update.
func Calculate(spec Spec, pods []Pod) (Diff, error) {
	k, err := spec.resolve()
	if err != nil {
		return Diff{}, err
	}
	c := count(&spec, pods)
	oldDiff := c.activeOld - k.partition
	newDiff := c.activeNew - (spec.Replicas - k.partition)
	if spec.SameRevision || !spec.Rollback {
		oldDiff, newDiff = max(oldDiff, 0), min(newDiff, 0)
	}
	useSurge, useSurgeOld := surge(k, c, oldDiff, newDiff, spec.Paused)
	expect, expectOld := spec.Replicas+useSurge, k.partition+useSurgeOld

	d := Diff{UseSurge: useSurge, Partition: k.partition, UpdateNum: updateNum(oldDiff, newDiff)}
	d.Up = max(expect-c.scaleTotal, 0)
	d.UpOld = max(expectOld-c.scaleOld, 0)
	d.UpLimit = min(d.Up, max(k.scaleMaxUnavailable-c.unavailable, 0))
	d.Down = max(c.scaleTotal-c.preparing-c.toDelete-expect, 0)
	d.DownOld = max(c.scaleOld-c.preparingOld-c.toDeleteOld-expectOld, 0)
	d.UpdateMaxUnavailable = k.maxUnavailable + c.total - spec.Replicas
	if c.toDelete > 0 || d.Down > 0 || c.total > c.activeNew+c.activeOld {
		d.DeleteReadyLimit = max(d.UpdateMaxUnavailable-c.unavailable-c.unavailablePicked, 0)
	}
	return d, nil
}

// surge decides how many Pods above the replicas are wanted, and how many of those at the current revision: to replace
// Pods picked for deletion, or to make room for an update, whichever is more. A pause stops updates and their surge, and
// nothing else: were maxSurge zero meanwhile, maxUnavailable would round up, and a pause would cost Pods that serve.
func surge(k knobs, c counts, oldDiff, newDiff int, paused bool) (use, useOld int) {
	if k.maxSurge <= 0 {
		return 0, 0
	}
	scale, scaleOld := 0, 0
	if c.toDelete > 0 {
		scale = min(max(c.unavailable+c.toDelete-k.maxUnavailable, 0), c.toDelete)
		scaleOld = max(scale-c.toDeleteNew, 0)
	}
	update, updateOld := 0, 0
	if oldDiff*newDiff < 0 && !paused {
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

// updateNum is the smaller of what is too much on one side and missing on the other, with its sign. Where both miss Pods, or
// both have too many, that is for scaling to put right: an update would only move what is wrong to the other side.
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
