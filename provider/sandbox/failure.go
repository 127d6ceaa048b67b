package sandbox

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/provisiond/provisiond/provider"
)

// failure is how something fails.
type failure struct {
	code      string
	message   string
	retryable bool
	times     times
}

func defaultFailure(message string) failure {
	return failure{code: string(provider.ErrUnavailable), message: message, times: always}
}

// asError is the failure as provisiond gets it.
func (f *failure) asError() *provider.Error {
	return &provider.Error{Code: provider.ErrorCode(f.code), Message: f.message, Retryable: f.retryable}
}

// read sets what the object holds; more are the targets of further members.
func (f *failure) read(object json.RawMessage, more map[string]any) error {
	targets := map[string]any{
		"code": &f.code, "message": &f.message, "retryable": &f.retryable, "times": &f.times,
	}
	maps.Copy(targets, more)
	errs := []error{provider.DecodeFields(object, targets)}
	if f.code == "" {
		errs = append(errs, errors.New("code: must not be empty"))
	}
	if f.message == "" {
		errs = append(errs, errors.New("message: must not be empty"))
	}
	return errors.Join(errs...)
}

// updateFailure is how an update fails.
type updateFailure struct {
	failure

	unusable      bool
	notRepeatable bool
}

// readFailUpdate reads the knob "fail_update".
func (k *knobs) readFailUpdate(object json.RawMessage) error {
	if len(object) == 0 {
		return nil
	}
	f := &updateFailure{failure: defaultFailure("The sandbox fails to update the instance, as its plan says.")}
	err := f.read(object, map[string]any{"unusable": &f.unusable, "not_repeatable": &f.notRepeatable})
	if f.retryable && (f.unusable || f.notRepeatable) {
		err = errors.Join(err, errors.New("retryable: must be false with unusable or not_repeatable"))
	}
	k.failUpdate = f
	return err
}

func (f *updateFailure) asError() *provider.Error {
	err := f.failure.asError()
	err.Unusable, err.NotRepeatable = f.unusable, f.notRepeatable
	return err
}
