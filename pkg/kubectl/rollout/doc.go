// Package rollout has the subcommands of rollout that kubectl does not have, or that do more for the kinds of this project.
package rollout
