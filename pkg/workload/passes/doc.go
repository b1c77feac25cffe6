// Package passes owns the limits of a pass of a controller over one object: how many requests run at the same time (Width), and how long
// the pass starts new ones (Time). Controllers whose passes are short use Parallel and SlowStart without a limit of time.
//
// The package makes no API requests.
package passes
