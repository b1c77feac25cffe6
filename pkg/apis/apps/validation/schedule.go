package validation

import (
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // A zone is known by its name, whatever the server's machine has installed.

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSchedule checks when runs are due, in which zone.
func validateSchedule(schedule string, zone *string, path *field.Path) field.ErrorList {
	at := path.Child("schedule")
	var errs field.ErrorList
	if schedule == "" {
		errs = append(errs, field.Required(at, `use five fields such as "0 8 * * *", or a macro such as "@hourly"`))
	} else if err := parseSchedule(schedule); err != nil {
		errs = append(errs, field.Invalid(at, schedule, err.Error()+`; use five fields such as "0 8 * * *", or a macro such as "@hourly"`))
	}
	if zone == nil {
		return errs
	}
	if strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=") {
		errs = append(errs, field.Invalid(at, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule; remove one of them"))
	}
	return append(errs, validateTimeZone(*zone, path.Child("timeZone"))...)
}

// parseSchedule reads a schedule as the controller does. The parser panics on a zone that nothing
// follows.
func parseSchedule(schedule string) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("cannot be read")
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

func validateTimeZone(zone string, path *field.Path) field.ErrorList {
	if zone == "" || strings.EqualFold(zone, "Local") {
		return field.ErrorList{field.Invalid(path, zone,
			"must name a time zone such as Etc/UTC; to use the controller's time zone, remove the field")}
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return field.ErrorList{field.Invalid(path, zone, err.Error()+"; use a time zone such as Etc/UTC")}
	}
	return nil
}
