// Package occupancy checks a recorded history: how many places were out at once, at the worst moment. Enter at Most.
package occupancy
