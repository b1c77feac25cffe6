package policy

import (
	"slices"
	"strconv"
	"strings"

	"kruise.io/kruise/pkg/apis/annotation"
	"kruise.io/kruise/pkg/apis/pub"
)

// PubOperations are all operations that a budget can bound.
var PubOperations = []PubOperation{PubDeleteOperation, PubUpdateOperation, PubEvictOperation, PubResizeOperation}

// Protection is a setting of a budget that is a field in v1beta1 and an annotation in v1alpha1.
// v1beta1 may have the annotation too.
// +k8s:deepcopy-gen=false
type Protection struct {
	// Annotation and Field are its names, the field's below spec.
	Annotation, Field string
	// Known says whether a text may be the annotation's.
	Known func(text string) bool
	// Set parses a text into the field. It unsets the field if the text is invalid.
	Set func(spec *PodUnavailableBudgetSpec, text string)
	// Text is the field as a text, empty when it is not set.
	Text func(spec *PodUnavailableBudgetSpec) string
}

// Normalize is the text that the field has where the annotation has this one.
func (p *Protection) Normalize(text string) string {
	spec := &PodUnavailableBudgetSpec{}
	p.Set(spec, text)
	return p.Text(spec)
}

// Protections are all such settings.
func Protections() []Protection {
	return []Protection{
		{
			Annotation: pub.PubProtectOperationsKey, Field: "protectOperations",
			Known: func(text string) bool { return parseOperations(text) != nil },
			Set:   func(spec *PodUnavailableBudgetSpec, text string) { spec.ProtectOperations = parseOperations(text) },
			Text:  func(spec *PodUnavailableBudgetSpec) string { return operationsText(spec.ProtectOperations) },
		},
		{
			Annotation: pub.PubProtectTotalReplicasKey, Field: "protectTotalReplicas",
			Known: func(text string) bool { _, err := strconv.ParseInt(text, 10, 32); return err == nil },
			Set:   func(spec *PodUnavailableBudgetSpec, text string) { spec.ProtectTotalReplicas = parseReplicas(text) },
			Text:  func(spec *PodUnavailableBudgetSpec) string { return replicasText(spec.ProtectTotalReplicas) },
		},
	}
}

// Settings are the same settings, as settings of a budget.
func Settings() (settings []annotation.Setting[*PodUnavailableBudget]) {
	for _, protection := range Protections() {
		settings = append(settings, annotation.Setting[*PodUnavailableBudget]{
			Key: protection.Annotation, Normalize: protection.Normalize,
			Text: func(budget *PodUnavailableBudget) string { return protection.Text(&budget.Spec) },
			Set:  func(budget *PodUnavailableBudget, text string) { protection.Set(&budget.Spec, text) },
		})
	}
	return settings
}

// parseOperations is nil for a text that is no list of operations.
func parseOperations(text string) (operations []PubOperation) {
	for word := range strings.SplitSeq(text, ",") {
		operation := PubOperation(word)
		if !slices.Contains(PubOperations, operation) {
			return nil
		}
		operations = append(operations, operation)
	}
	return operations
}

func operationsText(operations []PubOperation) string {
	words := make([]string, 0, len(operations))
	for _, operation := range operations {
		words = append(words, string(operation))
	}
	return strings.Join(words, ",")
}

// parseReplicas returns nil for a text that is not a number or not a valid number of replicas.
func parseReplicas(text string) *int32 {
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 1 {
		return nil
	}
	return new(int32(number))
}

func replicasText(replicas *int32) string {
	if replicas == nil {
		return ""
	}
	return strconv.Itoa(int(*replicas))
}
