// Package servable finds values that a server could store and not show: protobuf carries them, JSON
// does not, or no client reads what JSON makes of them. One such object would spoil every list that it
// is in. It knows no kind and no rule of what a field means. Enter at For.
//
// Bodies in JSON and YAML cannot hold such values: their decoder refuses or mends them.
package servable
