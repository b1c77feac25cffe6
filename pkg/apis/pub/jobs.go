package pub

// Names of jobs. Users, other programs and objects of older releases depend on every one.
const (
	// DeletionProtectionFinalizer is on an ImagePullJob until it is complete, or deleted and its copies of pull secrets are released.
	DeletionProtectionFinalizer = "apps.kruise.io/deletion-protection"
	// DaemonConfigNamespace holds the copies of pull secrets that node agents read, unless DaemonConfigNamespaceEnv says
	// otherwise.
	DaemonConfigNamespace = "kruise-daemon-config"
	// DaemonConfigNamespaceEnv names the environment variable of the programs that overrides DaemonConfigNamespace.
	DaemonConfigNamespaceEnv = "KRUISE_DAEMON_CONFIG_NS"
	// FakeNodeImageKey labels a NodeImage that has no node. Its value is ignored.
	FakeNodeImageKey = "apps.kruise.io/fake-nodeimage"
	// ImagePullJobSourceKey annotates a copy of a pull secret with <namespace>/<name> of the source.
	ImagePullJobSourceKey = "imagepulljobs.kruise.io/source-key"
	// ImagePullJobReferencesKey annotates a copy of a pull secret with the jobs that use it.
	ImagePullJobReferencesKey = "imagepulljobs.kruise.io/references"
	// ImagePullJobModeKey annotates a copy of a pull secret. Its value is ImagePullJobModeNew.
	ImagePullJobModeKey = "imagepulljobs.kruise.io/mode"
	// ImagePullJobModeNew is the only value of ImagePullJobModeKey.
	ImagePullJobModeNew = "new"
	// BroadcastJobNameKey labels a Pod with the name of its BroadcastJob.
	BroadcastJobNameKey = "broadcastjob-name"
	// BroadcastJobControllerUIDKey labels a Pod with the UID of its BroadcastJob.
	BroadcastJobControllerUIDKey = "broadcastjob-controller-uid"
	// BroadcastJobSeenFailuresKey is the number of failed Pods for which a BroadcastJob paused
	// last. The job does not pause for them again.
	BroadcastJobSeenFailuresKey = "apps.kruise.io/broadcastjob-seen-failures"
	// ScheduledAtKey annotates a job with the time at which its run was due, RFC 3339.
	ScheduledAtKey = "apps.kruise.io/scheduled-at"
)
