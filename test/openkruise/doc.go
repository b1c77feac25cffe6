// Package openkruise stands in for an installation of OpenKruise, for tests of the take-over.
//
// Generations are the versions of its chart that differ, and Generation.Objects are what such a chart installs. Manager does what a
// take-over can notice of OpenKruise's manager: it answers webhooks and conversions over TLS, and writes its CA into them after its start.
package openkruise
