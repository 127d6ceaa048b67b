package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provisiond/provisiond/provider"
)

const maxSteps = 20

// knobs are a plan's settings. The package comment gives their meaning.
type knobs struct {
	duration            duration
	steps               int
	questions           []question
	failAtStep          int
	failure             failure
	loseAnswer          bool
	failUpdate          *updateFailure // nil is none
	updateDuration      duration
	failUnbind          times
	failDeprovision     times
	deprovisionDuration duration
	overridable         bool

	// settings are what all this was read from.
	settings json.RawMessage
}

// stepDuration is how long each step takes.
func (k *knobs) stepDuration() time.Duration {
	return time.Duration(k.duration) / time.Duration(k.steps)
}

// CheckPlan implements provider.PlanChecker.
func (d *driver) CheckPlan(settings json.RawMessage) error {
	_, err := readKnobs(settings)
	return err
}

// readKnobs reports all that is wrong with the settings at once.
func readKnobs(settings json.RawMessage) (knobs, error) {
	k := knobs{steps: 1, failure: defaultFailure("The sandbox fails, as its plan says."), settings: settings}
	var questions []json.RawMessage
	var failed, failedUpdate json.RawMessage
	errs := []error{provider.DecodeFields(settings, map[string]any{
		"duration": &k.duration, "steps": &k.steps, "questions": &questions, "fail_at_step": &k.failAtStep,
		"failure": &failed, "lose_answer": &k.loseAnswer,
		"update_duration": &k.updateDuration, "fail_update": &failedUpdate, "fail_unbind": &k.failUnbind,
		"fail_deprovision": &k.failDeprovision, "deprovision_duration": &k.deprovisionDuration,
		"overridable": &k.overridable,
	})}
	errs = append(errs, within("failure", k.failure.read(failed, nil)), within("fail_update", k.readFailUpdate(failedUpdate)))
	if k.steps < 1 || k.steps > maxSteps {
		errs = append(errs, fmt.Errorf("steps: must be from 1 to %d", maxSteps))
	}
	if k.failAtStep < 0 || k.failAtStep > k.steps {
		errs = append(errs, errors.New("fail_at_step: must be from 0 to the number of steps"))
	}
	errs = append(errs, k.readQuestions(questions))
	return k, errors.Join(errs...)
}

// overridden are the settings with those parameters in the place of settings that the plan lets users
// replace.
func overridden(settings json.RawMessage, parameters map[string]any) (json.RawMessage, error) {
	var merged map[string]json.RawMessage
	if err := json.Unmarshal(settings, &merged); err != nil {
		return nil, errors.New("must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !slices.Contains(overridable, name) {
			continue
		}
		value, err := json.Marshal(parameters[name])
		if err != nil {
			return nil, fmt.Errorf("%s: must be JSON", name)
		}
		merged[name] = value
	}
	return json.Marshal(merged)
}

// overridable are the knobs that a parameter may replace: all but "overridable" itself.
var overridable = []string{
	"duration", "steps", "questions", "fail_at_step", "failure", "lose_answer",
	"update_duration", "fail_update", "fail_unbind", "fail_deprovision", "deprovision_duration",
}

// knobsOf are the plan's knobs with the user's on top.
func knobsOf(r *provider.Request) (knobs, error) {
	k, err := readKnobs(r.Settings)
	if err != nil {
		return knobs{}, rejected("The plan's settings are wrong; an operator must correct the catalog.", err)
	}
	if !k.overridable {
		return k, nil
	}
	settings, err := overridden(r.Settings, r.Parameters)
	if err == nil {
		k, err = readKnobs(settings)
	}
	if err != nil {
		return knobs{}, rejected("Wrong parameters: "+strings.ReplaceAll(err.Error(), "\n", "; "), nil)
	}
	return k, nil
}

func rejected(message string, cause error) error {
	return &provider.Error{Code: provider.ErrRejected, Message: message, Cause: cause}
}
