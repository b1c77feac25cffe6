// Package scheduledpulls is the admission plugin ScheduledImagePulls. A user who writes an AdvancedCronJob whose runs pull images on
// nodes must be allowed to create ImageListPullJobs. The controllers create the runs with their own permissions, so a user could
// otherwise pull images on every node with only the permission for AdvancedCronJobs.
package scheduledpulls
