// Package servable finds values that the server could store but not return. protobuf can carry them, but JSON cannot
// represent them, or clients cannot read their JSON form. One such object would break every list that contains it.
// The package knows no kinds and no meaning of fields. Enter at For.
//
// JSON and YAML bodies cannot contain such values, because their decoders refuse or correct them.
package servable
