package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/provisiond/provisiond/provider"
)

// A question is asked when afterStep steps are done.
type question struct {
	provider.Question

	afterStep int
}

// readQuestions reads the knob "questions".
func (k *knobs) readQuestions(list []json.RawMessage) error {
	var errs []error
	seen := map[string]bool{}
	for i, object := range list {
		q, err := readQuestion(object)
		if err == nil && seen[q.Name] {
			err = errors.New("name: must be unique")
		}
		if err == nil && (q.afterStep < 0 || q.afterStep > k.steps) {
			err = errors.New("after_step: must be from 0 to the number of steps")
		}
		errs = append(errs, within(fmt.Sprintf("questions[%d]", i), err))
		seen[q.Name] = true
		k.questions = append(k.questions, q)
	}
	return errors.Join(errs...)
}

func readQuestion(object json.RawMessage) (question, error) {
	var q question
	var expiry duration
	err := provider.DecodeFields(object, map[string]any{
		"name": &q.Name, "message": &q.Message, "schema": &q.Schema, "secret": &q.Secret,
		"person_only": &q.PersonOnly, "default": &q.Default, "expiry": &expiry, "after_step": &q.afterStep,
	})
	q.Expiry = time.Duration(expiry)
	errs := []error{err}
	if q.Name == "" {
		errs = append(errs, errors.New("name: is required"))
	}
	if q.Message == "" {
		errs = append(errs, errors.New("message: is required"))
	}
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(q.Schema, &schema) != nil || schema.Type != "object" || len(schema.Properties) == 0 {
		errs = append(errs, errors.New(`schema: must be of type "object" with properties`))
	}
	return q, errors.Join(errs...)
}

// ask returns InputRequired with the questions that come after the step and have no answer yet.
func (k *knobs) ask(r *provider.Request, afterStep int) error {
	var open []provider.Question
	for _, q := range k.questions {
		if _, answered := r.Answers[q.Name]; !answered && q.afterStep == afterStep {
			open = append(open, q.Question)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &provider.InputRequired{Questions: open}
}
