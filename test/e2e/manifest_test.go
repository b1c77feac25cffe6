//go:build e2e

package e2e

import (
	"fmt"
	"strings"
)

var sprintf = fmt.Sprintf

// manifest returns a CloneSet in v1alpha1 as a user writes it. replacements are old, new pairs of text.
func manifest(name string, replacements ...string) string {
	text := `apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata:
  name: NAME
spec:
  replicas: 3
  selector:
    matchLabels:
      app: NAME
  updateStrategy:
    type: InPlaceIfPossible
    maxUnavailable: 1
  template:
    metadata:
      labels:
        app: NAME
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: main
        image: kruise.local/demo:v1
        imagePullPolicy: IfNotPresent
        ports:
        - containerPort: 8080
        resources:
          requests:
            cpu: 10m
            memory: 16Mi
`
	return strings.NewReplacer(append(replacements, "NAME", name)...).Replace(text)
}
