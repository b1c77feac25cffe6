package validation

import (
	"fmt"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxImages is how many images one ImageListPullJob may have.
const maxImages = 255

// validateImage checks that a runtime could be asked for the image.
func validateImage(image string, path *field.Path) field.ErrorList {
	if image == "" {
		return field.ErrorList{field.Required(path, "image can not be empty; name one like example.com/team/app:v1")}
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return field.ErrorList{field.Invalid(path, image, fmt.Sprintf("invalid image: %v; name one like example.com/team/app:v1", err))}
	}
	return nil
}

// validateImages checks a list of images. It compares the names as text, so two names of one image are
// different.
func validateImages(images []string, path *field.Path) field.ErrorList {
	if len(images) == 0 {
		return field.ErrorList{field.Required(path, "image can not be empty; name at least one like example.com/team/app:v1")}
	}
	var errs field.ErrorList
	if len(images) > maxImages {
		errs = append(errs, field.Invalid(path, len(images),
			fmt.Sprintf("the maximum number of images cannot > %d; split the list into several jobs", maxImages)))
	}
	seen := sets.New[string]()
	for i, image := range images {
		if seen.Has(image) {
			errs = append(errs, field.Invalid(path.Index(i), image, "images cannot have duplicate values; remove the duplicate"))
			continue
		}
		seen.Insert(image)
		errs = append(errs, validateImage(image, path.Index(i))...)
	}
	return errs
}
