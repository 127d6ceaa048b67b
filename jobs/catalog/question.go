package catalog

import (
	"fmt"

	"github.com/provisiond/provisiond/provider"
)

// costQuestion is the name of the question whether the price is accepted.
const costQuestion = "confirm_cost"

// ParameterQuestion asks for one of the plan's parameters. The answer's content is an object with
// the parameter as its one field.
func (p *Plan) ParameterQuestion(parameter string) provider.Question {
	prop := p.properties[parameter]
	return provider.Question{
		Name:       parameter,
		Message:    prop.message(parameter),
		Schema:     encode(oneField(parameter, prop.question())),
		Secret:     prop.secret(),
		PersonOnly: prop.personOnly(),
		Expiry:     p.QuestionExpiry,
	}
}

// CostQuestion asks whether the plan's price is accepted: the answer's field "confirm" is true. It
// reports false where the plan does not ask.
func (p *Plan) CostQuestion() (provider.Question, bool) {
	if !p.ConfirmCost || p.Price == nil {
		return provider.Question{}, false
	}
	return provider.Question{
		Name: costQuestion,
		Message: fmt.Sprintf("The plan %s of %s costs %s. Do you accept the cost?",
			p.Name, p.serviceName, p.Price),
		Schema: encode(oneField("confirm", map[string]any{"type": "boolean", "title": "Accept the cost"})),
		Expiry: p.QuestionExpiry,
	}, true
}

// destroyQuestion is what agents are told of a deletion that a person must confirm.
const destroyQuestion = "confirm_destroy"

// DestroyQuestion asks a person whether an instance is to be deleted, which is named so that they know
// it: the answer's field "confirm" is true. The plan may be nil, where the catalog no longer has it.
func (p *Plan) DestroyQuestion(instance string) provider.Question {
	question := provider.Question{
		Name:       destroyQuestion,
		Message:    fmt.Sprintf("An agent wants to delete %s with all its data, for ever. Shall it be deleted?", instance),
		Schema:     encode(oneField("confirm", map[string]any{"type": "boolean", "title": "Delete it with all its data"})),
		PersonOnly: true,
	}
	if p != nil {
		question.Expiry = p.QuestionExpiry
	}
	return question
}

// String writes the price for people, such as "5.00 USD per month".
func (p *Price) String() string {
	if p.Per == "once" {
		return p.Amount + " " + p.Currency + " once"
	}
	return p.Amount + " " + p.Currency + " per " + p.Per
}

// Expected lists all that is asked of someone who gives no parameters, in the order of asking: the
// parameters, then the cost. The driver may ask more.
func (p *Plan) Expected() []provider.Question {
	var questions []provider.Question
	for _, name := range p.required {
		if p.properties[name].defaultValue() == nil {
			questions = append(questions, p.ParameterQuestion(name))
		}
	}
	if cost, ok := p.CostQuestion(); ok {
		questions = append(questions, cost)
	}
	return questions
}

func oneField(name string, schema map[string]any) map[string]any {
	return map[string]any{
		"type":       "object",
		"properties": map[string]any{name: schema},
		"required":   []string{name},
	}
}
