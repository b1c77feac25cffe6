// Package migrate has the command migrate, which moves the replicas of a Deployment to a CloneSet. Enter at NewCommand.
package migrate
