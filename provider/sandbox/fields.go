package sandbox

import (
	"errors"
	"fmt"
)

// within puts the path before each of the joined errors.
func within(path string, err error) error {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	for _, one := range many.Unwrap() {
		errs = append(errs, within(path, one))
	}
	return errors.Join(errs...)
}
