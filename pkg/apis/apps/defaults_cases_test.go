package apps_test

import "fmt"

// rolling is a strategy with that in its block.
func rolling(block string) string { return `{updateStrategy: {rollingUpdate: ` + block + `}}` }

// sidecars are the same container as sidecar and as init container.
func sidecars(container string) string {
	return fmt.Sprintf(`{containers: [%[1]s], initContainers: [%[1]s]}`, container)
}

const (
	pull     = `{pullPolicy: {timeoutSeconds: 600, backoffLimit: 3}, completionPolicy: {type: Always}, imagePullPolicy: IfNotPresent}`
	keptPull = `{pullPolicy: {timeoutSeconds: 0, backoffLimit: 0}, completionPolicy: {type: Never}, imagePullPolicy: Always}`

	broadcast         = `{parallelism: 2147483647, completionPolicy: {type: Always}, failurePolicy: {type: FailFast}}`
	keptBroadcast     = `{parallelism: 0, paused: true, completionPolicy: {type: Never}, failurePolicy: {type: Pause, restartLimit: 3}}`
	unfilledBroadcast = `{parallelism: null, completionPolicy: {}, failurePolicy: {}}`

	broadcastTemplate = `{template: {broadcastJobTemplate: {spec: `
	pullTemplate      = `{template: {imageListPullJobTemplate: {spec: `
)

var defaultsByKind = map[string]map[string]defaults{
	"CloneSet": {
		"counts":      {want: `{replicas: 1, revisionHistoryLimit: 10, minReadySeconds: null, progressDeadlineSeconds: null}`},
		"counts kept": {written: `{replicas: 0, revisionHistoryLimit: 0}`, want: `{replicas: 0, revisionHistoryLimit: 0}`},
		"scaling":     {want: `{scaleStrategy: {}}`},
		"v1alpha1":    {only: "v1alpha1", want: `{updateStrategy: {type: ReCreate, partition: 0, maxUnavailable: 20%, maxSurge: 0, paused: null, inPlaceUpdateStrategy: null}}`},
		"v1alpha1 kept": {
			only: "v1alpha1", written: `{updateStrategy: {partition: 90%, maxUnavailable: 0, maxSurge: 2}}`,
			want: `{updateStrategy: {partition: 90%, maxUnavailable: 0, maxSurge: 2}}`,
		},
		"v1alpha1 InPlaceIfPossible": {
			only: "v1alpha1", written: `{updateStrategy: {type: InPlaceIfPossible}}`, want: `{updateStrategy: {inPlaceUpdateStrategy: {}}}`,
		},
		"v1alpha1 InPlaceOnly": {
			only: "v1alpha1", written: `{updateStrategy: {type: InPlaceOnly}}`, want: `{updateStrategy: {inPlaceUpdateStrategy: {}}}`,
		},
		"v1alpha1 OnDelete is not filled": {
			only: "v1alpha1", written: `{updateStrategy: {type: OnDelete}}`,
			want: `{updateStrategy: {type: OnDelete, partition: null, maxUnavailable: null, maxSurge: null, inPlaceUpdateStrategy: null}}`,
		},
		"v1alpha1 OnDelete with a setting is filled": {
			only: "v1alpha1", written: `{updateStrategy: {type: OnDelete, paused: true}}`, want: `{updateStrategy: {maxUnavailable: 20%}}`,
		},
		"v1beta1": {
			only: "v1beta1", want: `{updateStrategy: {type: RollingUpdate, rollingUpdate:
				{podUpdatePolicy: ReCreate, partition: 0, maxUnavailable: 20%, maxSurge: 0, paused: null, inPlaceUpdateStrategy: null}}}`,
		},
		"v1beta1 kept": {
			only: "v1beta1", written: rolling(`{partition: 90%, maxUnavailable: 0, maxSurge: 2}`),
			want: rolling(`{partition: 90%, maxUnavailable: 0, maxSurge: 2}`),
		},
		"v1beta1 InPlaceIfPossible": {
			only: "v1beta1", written: rolling(`{podUpdatePolicy: InPlaceIfPossible}`), want: rolling(`{inPlaceUpdateStrategy: {}}`),
		},
		"v1beta1 InPlaceOnly": {
			only: "v1beta1", written: rolling(`{podUpdatePolicy: InPlaceOnly}`), want: rolling(`{inPlaceUpdateStrategy: {}}`),
		},
		"v1beta1 inPlaceUpdateStrategy kept": {
			only: "v1beta1", written: rolling(`{podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 9}}`),
			want: rolling(`{inPlaceUpdateStrategy: {gracePeriodSeconds: 9}}`),
		},
		"v1beta1 OnDelete gets no block": {
			only: "v1beta1", written: `{updateStrategy: {type: OnDelete}}`, want: `{updateStrategy: {type: OnDelete, rollingUpdate: null}}`,
		},
		"v1beta1 OnDelete keeps its block and has it filled": {
			only: "v1beta1", written: `{updateStrategy: {type: OnDelete, rollingUpdate: {paused: true}}}`, want: rolling(`{maxUnavailable: 20%}`),
		},
	},
	"StatefulSet": {
		"unset": {want: `{replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: OrderedReady, serviceName: null,
			reserveOrdinals: null, scaleStrategy: null, ordinals: null, updateStrategy: {type: RollingUpdate, rollingUpdate:
			{partition: 0, maxUnavailable: 1, podUpdatePolicy: ReCreate, paused: null, minReadySeconds: 0, unorderedUpdate: null,
			inPlaceUpdateStrategy: null}}}`},
		"kept": {
			written: `{replicas: 0, revisionHistoryLimit: 0, podManagementPolicy: Parallel}`,
			want:    `{replicas: 0, revisionHistoryLimit: 0, podManagementPolicy: Parallel}`,
		},
		"block kept": {
			written: rolling(`{partition: 3, maxUnavailable: 20%, minReadySeconds: 9}`),
			want:    rolling(`{partition: 3, maxUnavailable: 20%, minReadySeconds: 9}`),
		},
		"OnDelete gets no block": {
			written: `{updateStrategy: {type: OnDelete}}`, want: `{updateStrategy: {type: OnDelete, rollingUpdate: null}}`,
		},
		"InPlaceIfPossible": {written: rolling(`{podUpdatePolicy: InPlaceIfPossible}`), want: rolling(`{inPlaceUpdateStrategy: null}`)},
		"InPlaceOnly":       {written: rolling(`{podUpdatePolicy: InPlaceOnly}`), want: rolling(`{inPlaceUpdateStrategy: null}`)},
		"inPlaceUpdateStrategy kept": {
			written: rolling(`{podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {gracePeriodSeconds: 9}}`),
			want:    rolling(`{inPlaceUpdateStrategy: {gracePeriodSeconds: 9}}`),
		},
	},
	"DaemonSet": {
		"unset": {want: `{burstReplicas: 250, revisionHistoryLimit: 10, minReadySeconds: null, updateStrategy: {type: RollingUpdate,
			rollingUpdate: {rollingUpdateType: Standard, maxUnavailable: 1, maxSurge: 0, partition: null, paused: false}}}`},
		"kept": {written: `{burstReplicas: 0, revisionHistoryLimit: 0}`, want: `{burstReplicas: 0, revisionHistoryLimit: 0}`},
		"OnDelete gets no block": {
			written: `{updateStrategy: {type: OnDelete}}`, want: `{updateStrategy: {type: OnDelete, rollingUpdate: null}}`,
		},
		"OnDelete keeps its block as it is": {
			written: `{updateStrategy: {type: OnDelete, rollingUpdate: {}}}`, want: `{updateStrategy: {type: OnDelete, rollingUpdate: {}}}`,
		},
		"maxUnavailable alone": {written: rolling(`{maxUnavailable: 20%}`), want: rolling(`{maxUnavailable: 20%, maxSurge: null}`)},
		"maxSurge alone":       {written: rolling(`{maxSurge: 2}`), want: rolling(`{maxUnavailable: null, maxSurge: 2}`)},
		"paused kept":          {written: rolling(`{paused: true}`), want: rolling(`{paused: true}`)},
		"Surging": {
			only: "v1alpha1", written: rolling(`{rollingUpdateType: Surging}`),
			want: rolling(`{rollingUpdateType: Standard, maxSurge: 1, maxUnavailable: 0, paused: false, partition: null, selector: null}`),
		},
		"Surging keeps its pace": {
			only: "v1alpha1", written: rolling(`{rollingUpdateType: Surging, maxSurge: 5, maxUnavailable: 2}`),
			want: rolling(`{maxSurge: 5, maxUnavailable: 2}`),
		},
		"partition holds back no creation": {only: "v1beta1", want: `{scaleStrategy: {}}`},
	},
	"UnitedDeployment": {
		"unset": {want: `{replicas: 1, revisionHistoryLimit: 10, updateStrategy: {type: Manual, manualUpdate: {}},
			topology: {scheduleStrategy: {type: Fixed, adaptive: null}}}`},
		"replicas kept":                      {written: `{replicas: 0}`, want: `{replicas: 0}`},
		"replicas of subsets that add up":    {written: `{topology: {subsets: [{replicas: 2}, {replicas: 2}]}}`, want: `{replicas: null}`},
		"replicas where one subset has none": {written: `{topology: {subsets: [{replicas: 2}, {}]}}`, want: `{replicas: 1}`},
		"replicas where one is a percentage": {written: `{topology: {subsets: [{replicas: 50%}]}}`, want: `{replicas: 1}`},
		"manualUpdate kept": {
			written: `{updateStrategy: {manualUpdate: {partitions: {a: 1}}}}`, want: `{updateStrategy: {manualUpdate: {partitions: {a: 1}}}}`,
		},
		"manualUpdate of another type": {written: `{updateStrategy: {type: Other}}`, want: `{updateStrategy: {manualUpdate: null}}`},
		"Adaptive": {
			written: `{topology: {scheduleStrategy: {type: Adaptive}}}`,
			want: `{topology: {scheduleStrategy: {type: Adaptive, adaptive:
				{rescheduleCriticalSeconds: 30, unschedulableDuration: 300, reserveUnschedulablePods: null}}}}`,
		},
		"Adaptive kept": {
			written: `{topology: {scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 5, reserveUnschedulablePods: true}}}}`,
			want: `{topology: {scheduleStrategy: {type: Adaptive, adaptive:
				{rescheduleCriticalSeconds: 5, unschedulableDuration: 300, reserveUnschedulablePods: true}}}}`,
		},
		"no bounds": {
			written: `{topology: {subsets: [{}, {}]}}`, want: `{topology: {subsets: [{minReplicas: null}, {minReplicas: null}]}}`,
		},
		"minReplicas once there is a bound": {
			written: `{topology: {subsets: [{}, {maxReplicas: 2}]}}`, want: `{topology: {subsets: [{minReplicas: 0}, {minReplicas: 0}]}}`,
		},
		"minReplicas kept": {written: `{topology: {subsets: [{minReplicas: 2}]}}`, want: `{topology: {subsets: [{minReplicas: 2}]}}`},
	},
	"SidecarSet": {
		"unset": {want: `{updateStrategy: {type: RollingUpdate, paused: null, partition: 0, maxUnavailable: 1}, revisionHistoryLimit: 10,
			injectionStrategy: {}}`},
		"kept": {
			written: `{updateStrategy: {type: NotUpdate, partition: 90%, maxUnavailable: 0}, revisionHistoryLimit: 0}`,
			want:    `{updateStrategy: {type: NotUpdate, partition: 90%, maxUnavailable: 0}, revisionHistoryLimit: 0}`,
		},
		"policy of revision": {
			written: `{injectionStrategy: {revision: {}}}`, want: `{injectionStrategy: {revision: {policy: Always}}}`,
		},
		"policy of revision kept": {
			written: `{injectionStrategy: {revision: {policy: Partial}}}`, want: `{injectionStrategy: {revision: {policy: Partial}}}`,
		},
		"patchPolicy": {
			written: `{patchPodMetadata: [{}, {patchPolicy: Overwrite}]}`,
			want:    `{patchPodMetadata: [{patchPolicy: Retain}, {patchPolicy: Overwrite}]}`,
		},
		"podInjectPolicy": {
			written: sidecars(`{}`),
			want:    `{containers: [{podInjectPolicy: BeforeAppContainer}], initContainers: [{podInjectPolicy: AfterAppContainer}]}`,
		},
		"container": {
			written: sidecars(`{}`),
			want: sidecars(`{upgradeStrategy: {upgradeType: ColdUpgrade}, shareVolumePolicy: {type: disabled},
				shareVolumeDevicePolicy: null, resourcesPolicy: null}`),
		},
		"container kept": {
			written: sidecars(`{upgradeStrategy: {upgradeType: HotUpgrade}, shareVolumePolicy: {type: enabled}}`),
			want:    sidecars(`{upgradeStrategy: {upgradeType: HotUpgrade}, shareVolumePolicy: {type: enabled}}`),
		},
		"shareVolumeDevicePolicy": {
			written: sidecars(`{shareVolumeDevicePolicy: {}}`), want: sidecars(`{shareVolumeDevicePolicy: {type: disabled}}`),
		},
		"shareVolumeDevicePolicy kept": {
			written: sidecars(`{shareVolumeDevicePolicy: {type: enabled}}`), want: sidecars(`{shareVolumeDevicePolicy: {type: enabled}}`),
		},
		"version of a fieldRef": {
			written: sidecars(`{transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: a}}}, {}]}`),
			want:    sidecars(`{transferEnv: [{sourceContainerNameFrom: {fieldRef: {apiVersion: v1}}}, {}]}`),
		},
		"version of a fieldRef kept": {
			written: sidecars(`{transferEnv: [{sourceContainerNameFrom: {fieldRef: {apiVersion: v2, fieldPath: a}}}]}`),
			want:    sidecars(`{transferEnv: [{sourceContainerNameFrom: {fieldRef: {apiVersion: v2}}}]}`),
		},
		"no fieldRef": {
			written: sidecars(`{transferEnv: [{sourceContainerNameFrom: {}}]}`), want: sidecars(`{transferEnv: [{sourceContainerNameFrom: {}}]}`),
		},
		"regex of targets": {
			written: sidecars(`{resourcesPolicy: {}}`), want: sidecars(`{resourcesPolicy: {targetContainersNameRegex: .*}}`),
		},
		"regex of targets kept": {
			written: sidecars(`{resourcesPolicy: {targetContainersNameRegex: ""}}`), want: sidecars(`{resourcesPolicy: {targetContainersNameRegex: ""}}`),
		},
		"core's fields are left to the write": {
			written: sidecars(`{image: demo}`), want: sidecars(`{image: demo, imagePullPolicy: null, terminationMessagePath: null}`),
		},
	},
	"BroadcastJob": {
		"unset": {want: broadcast, status: `{}`, wantStatus: `{active: 0, succeeded: 0, failed: 0, desired: 0, phase: ""}`},
		"kept":  {written: keptBroadcast, want: keptBroadcast},
	},
	"AdvancedCronJob": {
		"unset": {want: `{concurrencyPolicy: Allow, paused: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1}`},
		"kept": {
			written: `{concurrencyPolicy: Forbid, paused: true, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0}`,
			want:    `{concurrencyPolicy: Forbid, paused: true, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0}`,
		},
		"its BroadcastJob is filled when it is created": {written: broadcastTemplate + `{}}}}`, want: broadcastTemplate + unfilledBroadcast + `}}}`},
		"its BroadcastJob kept":                         {written: broadcastTemplate + keptBroadcast + `}}}`, want: broadcastTemplate + keptBroadcast + `}}}`},
		"its pull":                                      {only: "v1beta1", written: pullTemplate + `{}}}}`, want: pullTemplate + pull + `}}}`},
		"a pull replaces":                               {only: "v1beta1", written: pullTemplate + `{}}}}`, want: `{concurrencyPolicy: Replace}`},
		"a pull that does not": {
			only: "v1beta1", written: `{concurrencyPolicy: Forbid, template: {imageListPullJobTemplate: {}}}`, want: `{concurrencyPolicy: Forbid}`,
		},
	},
	"ImagePullJob":     {"unset": {want: pull}, "kept": {written: keptPull, want: keptPull}},
	"ImageListPullJob": {"unset": {want: pull}, "kept": {written: keptPull, want: keptPull}},
	"NodeImage": {
		"all but createdAt, which only a write fills": {
			written: `{images: {nginx: {tags: [{tag: b}, {tag: a, pullPolicy: {timeoutSeconds: 1, backoffLimit: 0, ttlSecondsAfterFinished: 5}}]}}}`,
			want: `{images: {nginx: {tags: [{tag: a, pullPolicy: {timeoutSeconds: 1, backoffLimit: 0, ttlSecondsAfterFinished: 5}},
				{tag: b, createdAt: null, pullPolicy: {timeoutSeconds: 600, backoffLimit: 3, ttlSecondsAfterFinished: null}}]}}}`,
			status: `{imageStatuses: {nginx: {tags: [{tag: b}, {tag: a}]}}}`, wantStatus: `{imageStatuses: {nginx: {tags: [{tag: a}, {tag: b}]}}}`,
		},
	},
	"ContainerRecreateRequest": {
		"no strategy":   {want: `{strategy: {failurePolicy: Fail}}`},
		"failurePolicy": {written: `{strategy: {orderedRecreate: true}}`, want: `{strategy: {orderedRecreate: true, failurePolicy: Fail}}`},
		"kept":          {written: `{strategy: {failurePolicy: Ignore}}`, want: `{strategy: {failurePolicy: Ignore}}`},
	},
}
