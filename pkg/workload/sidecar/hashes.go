package sidecar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kruise.io/kruise/pkg/apis/apps/v1beta1"
	"kruise.io/kruise/pkg/apis/pub"
)

// Record is what an annotation of a Pod says about one SidecarSet. Other programs read it, so its fields must not change.
type Record struct {
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// Hash is the hash of the SidecarSet that the containers of the Pod come from, with or without images.
	Hash           string `json:"hash"`
	SidecarSetName string `json:"sidecarSetName"`
	// SidecarList holds the names of the containers, sorted.
	SidecarList []string `json:"sidecarList"`
	// ControllerRevision is the name of the revision, if it was known.
	ControllerRevision string `json:"controllerRevision,omitempty"`
}

// Records are the records of a Pod's SidecarSets, by name.
type Records map[string]Record

// ReadRecords reads an annotation. A Pod of an early release has only the hash of each SidecarSet.
func ReadRecords(annotations map[string]string, key string) (Records, error) {
	text := annotations[key]
	if text == "" {
		return Records{}, nil
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("read annotation %q: %w", key, err)
	}
	records := make(Records, len(raw))
	for name, value := range raw {
		record := Record{SidecarSetName: name}
		target := any(&record)
		// A string is the hash of an early release, an object is a record.
		if bytes.HasPrefix(value, []byte(`"`)) {
			target = &record.Hash
		}
		if err := json.Unmarshal(value, target); err != nil {
			return nil, fmt.Errorf("read annotation %q: %w", key, err)
		}
		records[name] = record
	}
	return records, nil
}

// Encode returns the value of the annotation. Its names are sorted, so the same records give the same text.
func (r Records) Encode() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode the hashes of SidecarSets: %w", err)
	}
	return string(text), nil
}

// Put adds a record, unless the one of this SidecarSet says the same apart from the time. So a second call of admission does
// not change the time.
func (r Records) Put(record Record) {
	stored, found := r[record.SidecarSetName]
	if found && stored.Hash == record.Hash && stored.ControllerRevision == record.ControllerRevision &&
		slices.Equal(stored.SidecarList, record.SidecarList) && !stored.UpdateTimestamp.IsZero() {
		return
	}
	r[record.SidecarSetName] = record
}

// NewRecord returns the record of the SidecarSet as it is.
func NewRecord(set *v1beta1.SidecarSet, hash, revision string, now metav1.Time) Record {
	return Record{
		UpdateTimestamp: metav1.NewTime(now.UTC()), Hash: hash, SidecarSetName: set.Name, SidecarList: recordedNames(set),
		ControllerRevision: revision,
	}
}

// Hashes returns the hashes of the SidecarSet's containers, with and without their images. The API server writes them into
// annotations. They are computed if an object of an early release lacks them.
func Hashes(set *v1beta1.SidecarSet) (full, withoutImage string, err error) {
	full, withoutImage = set.Annotations[pub.SidecarSetHashKey], set.Annotations[pub.SidecarSetHashWithoutImageKey]
	if full != "" && withoutImage != "" {
		return full, withoutImage, nil
	}
	return set.Spec.Hashes()
}
