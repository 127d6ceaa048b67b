package jobs

import (
	"maps"
	"strings"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// startPlan is a start request held against the catalog.
type startPlan struct {
	service *catalog.Service
	plan    *catalog.Plan
	// public and secret are the parameters, answers in advance and defaults included.
	public, secret map[string]any
	// answers in advance to questions that the driver may ask.
	answers map[string]any
	asks    []ask
}

// ask is a question before the job runs: a required parameter that was not given, or the price.
type ask struct {
	question provider.Question
	origin   string
	answer   map[string]any // nil = must be asked
}

// The origins of questions.
const (
	originParameter = "parameter"
	originCost      = "cost"
	originDestroy   = "destroy"
	originProvider  = "provider"
)

// plan holds the request against the catalog. The plan is nil only when the service or plan is unknown.
func (s *Service) plan(c Caller, r StartRequest) (*startPlan, []Blocker) {
	service, ok := s.Catalog().Service(r.Service)
	if !ok {
		return nil, []Blocker{blocker(UnknownService, "/service", "there is no such service in the catalog; GET /v1/services lists them", ByCaller)}
	}
	plan, ok := service.Plan(r.Plan)
	if !ok {
		return nil, []Blocker{blocker(UnknownPlan, "/plan", "the service has no such plan; it has: "+planIDs(service), ByCaller)}
	}
	p := &startPlan{service: service, plan: plan, answers: maps.Clone(r.Answers)}
	parameters, blockers := p.takeParameterAnswers(r)
	filled, missing, errs := plan.CheckParameters(parameters)
	for _, e := range errs {
		blockers = append(blockers, blocker(InvalidRequest, p.pointer(r, e.Pointer), e.Detail, ByCaller))
	}
	if !c.isPerson() {
		blockers = append(blockers, p.personOnly(r, parameters)...)
	}
	p.public, p.secret = split(plan, filled)
	for _, name := range missing {
		p.asks = append(p.asks, ask{question: plan.ParameterQuestion(name), origin: originParameter})
	}
	blockers = append(blockers, expiryBlockers(plan, r.ExpiresIn)...)
	blockers = append(blockers, protectionBlockers(r.Protected, r.ExpiresIn > 0 || plan.Expiry.Default > 0)...)
	return p, append(blockers, p.takeCost()...)
}

func planIDs(s *catalog.Service) string {
	ids := make([]string, len(s.Plans))
	for i, p := range s.Plans {
		ids[i] = p.ID
	}
	return strings.Join(ids, ", ")
}

// takeParameterAnswers moves answers to parameter questions to the parameters.
func (p *startPlan) takeParameterAnswers(r StartRequest) (map[string]any, []Blocker) {
	parameters := maps.Clone(r.Parameters)
	if parameters == nil {
		parameters = map[string]any{}
	}
	cost, _ := p.plan.CostQuestion()
	var blockers []Blocker
	for _, q := range p.plan.Expected() {
		value, given := p.answers[q.Name]
		if !given || q.Name == cost.Name {
			continue
		}
		delete(p.answers, q.Name)
		pointer := "/answers/" + escapePointer(q.Name)
		if _, twice := parameters[q.Name]; twice {
			blockers = append(blockers, blocker(InvalidRequest, pointer, "is given in parameters too; give it once", ByCaller))
			continue
		}
		content, errs := catalog.NormalizeAnswer(q.Schema, value)
		for _, e := range errs {
			blockers = append(blockers, blocker(InvalidRequest, pointer+e.Pointer, e.Detail, ByCaller))
		}
		if len(errs) == 0 {
			maps.Copy(parameters, content)
		}
	}
	return parameters, blockers
}

// personOnly refuses parameters that only a person may decide.
func (p *startPlan) personOnly(r StartRequest, parameters map[string]any) []Blocker {
	var blockers []Blocker
	for name := range parameters {
		if p.plan.ParameterQuestion(name).PersonOnly {
			blockers = append(blockers, blocker(PersonRequired, p.pointer(r, "/"+escapePointer(name)), "only a person may decide this; leave it out, and the job will ask", ByPerson))
		}
	}
	return blockers
}

// pointer puts a fault of a merged parameter where the request has it.
func (p *startPlan) pointer(r StartRequest, parameter string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(parameter, "/"), "/")
	if _, ok := r.Answers[name]; ok {
		if _, ok := r.Parameters[name]; !ok {
			return "/answers" + parameter
		}
	}
	return "/parameters" + parameter
}

// split parts the parameters into those that may be shown and the secret ones.
func split(plan *catalog.Plan, parameters map[string]any) (public, secret map[string]any) {
	public, secret = map[string]any{}, map[string]any{}
	for name, value := range parameters {
		if plan.IsSecret(name) {
			secret[name] = value
		} else {
			public[name] = value
		}
	}
	return public, secret
}

// takeCost adds the question for the price, answered where the start call has confirmed it.
func (p *startPlan) takeCost() []Blocker {
	question, asked := p.plan.CostQuestion()
	if !asked {
		return nil
	}
	value, given := p.answers[question.Name]
	delete(p.answers, question.Name)
	cost := ask{question: question, origin: originCost}
	if given {
		content, errs := acceptedCost(question, value)
		if len(errs) > 0 {
			return []Blocker{blocker(InvalidRequest, "/answers/"+question.Name+errs[0].Pointer, errs[0].Detail, ByCaller)}
		}
		cost.answer = content
	}
	p.asks = append(p.asks, cost)
	return nil
}

// confirmed reports whether the answer to a question of yes or no says yes.
func confirmed(content map[string]any) bool {
	yes, _ := content["confirm"].(bool)
	return yes
}

func (p *startPlan) open() int {
	n := 0
	for _, a := range p.asks {
		if a.answer == nil {
			n++
		}
	}
	return n
}

// expiry is the time until the last of the open questions expires. They have no defaults, so the
// first that expires ends the job; all have the plan's.
func (p *startPlan) expiry(s *Service) time.Duration {
	return s.expiryOf(p.plan, provider.Question{})
}

func (p *startPlan) questionRows(s *Service, j *jobRow) []*questionRow {
	rows := make([]*questionRow, 0, len(p.asks))
	for _, a := range p.asks {
		q := newQuestionRow(j, a.question, a.origin, s.expiryOf(p.plan, a.question))
		if a.origin == originCost {
			q.quote = quoteOf(p.plan)
		}
		if a.answer != nil {
			q.state, q.answer = QuestionAnswered, &givenAnswer{Action: ActionAccept, Content: a.answer}
		}
		rows = append(rows, q)
	}
	return rows
}
