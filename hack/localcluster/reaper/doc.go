// Package reaper is the first process of a process namespace: it reaps the children that fall to it, and ends on SIGTERM or SIGINT.
package reaper
