package daemonset

import "testing"

func TestRevisionHasTheBytesOfOpenKruise(t *testing.T) {
	w := rolled(t, "", newSet(), nodes(2))
	w.StoresRevision("ns", `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},`+
		`"spec":{"containers":[{"image":"app:1","name":"main","resources":{}}]}}}}`, w.step)
}
