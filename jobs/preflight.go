package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// Preflight is what a call would run into.
type Preflight struct {
	Blockers  []Blocker
	Questions []provider.Question // what would be asked
	Price     *catalog.Price
	// Objects are the names that would be made, changed or removed outside, where the driver knows them
	// beforehand. Those of an instance that does not exist yet have {instance_id} in the place of its ID.
	Objects []provider.Object
}

// Clearer is who can clear a blocker away.
type Clearer string

// The clearers.
const (
	ByCaller   Clearer = "caller"   // by another request
	ByPerson   Clearer = "person"   // an agent cannot
	ByWaiting  Clearer = "waiting"  // it goes away by itself
	ByOperator Clearer = "operator" // of provisiond
	ByNobody   Clearer = "nobody"
)

// Blocker is a reason for which a call would be refused.
type Blocker struct {
	Code      Code
	Pointer   string // into the request; "" where it is about no field
	Detail    string
	ClearedBy Clearer
	// JobID is the job that must end first, where that is the reason.
	JobID string
	// refusal is the error that it was made of.
	refusal *Error
}

func blocker(code Code, pointer, detail string, by Clearer) Blocker {
	return Blocker{Code: code, Pointer: pointer, Detail: detail, ClearedBy: by}
}

// blockerOf makes a blocker of an error of this package.
func blockerOf(err error, pointer string) Blocker {
	e, _ := errors.AsType[*Error](err)
	by := map[Code]Clearer{
		OperationInProgress: ByWaiting, NotReady: ByWaiting, PlanRemoved: ByOperator, InstanceNotActive: ByNobody, PersonRequired: ByPerson,
	}[e.Code]
	return Blocker{Code: e.Code, Pointer: pointer, Detail: e.Detail, ClearedBy: cmp.Or(by, ByCaller), JobID: e.JobID, refusal: e}
}

// Preflight says what a start would be refused for and would ask, and makes nothing.
func (s *Service) Preflight(ctx context.Context, c Caller, r StartRequest) (Preflight, error) {
	p, blockers := s.plan(c, r)
	out := Preflight{Blockers: blockers}
	if p != nil {
		out.Price = p.plan.Price
		out.take(p.asks, r.FailOnQuestion)
		out.Objects = s.namesOfNew(p, r.Bind)
	}
	if r.Name == "" {
		return out, nil
	}
	err := s.write(ctx, func(w *write) error {
		_, _, err := s.sameName(ctx, w, c, r)
		return err
	})
	if errors.Is(err, NameTaken) || errors.Is(err, OperationInProgress) {
		out.Blockers = append(out.Blockers, blockerOf(err, "/name"))
	} else if err != nil {
		return Preflight{}, err
	}
	return out, nil
}

// take adds what would be asked, which is a blocker where the call wants to be refused for it.
func (out *Preflight) take(asks []ask, failOnQuestion bool) {
	for _, a := range asks {
		if a.answer != nil {
			continue
		}
		out.Questions = append(out.Questions, a.question)
		if failOnQuestion {
			out.Blockers = append(out.Blockers, blocker(InputIsRequired, "/answers/"+escapePointer(a.question.Name), neededAnswer(a.question), answerer(a.question)))
		}
	}
}

// answerer is who can answer a question. An agent must not learn a secret to give it.
func answerer(q provider.Question) Clearer {
	if q.PersonOnly || q.Secret {
		return ByPerson
	}
	return ByCaller
}

// nameAnswerer sets who clears the job in the way, where that does not go on without an answer.
func (out *Preflight) nameAnswerer(ctx context.Context, w *write, live *jobRow) error {
	inTheWay := slices.IndexFunc(out.Blockers, func(b Blocker) bool { return b.Code == OperationInProgress })
	if inTheWay < 0 || live.State != AwaitingInput {
		return nil
	}
	questions, err := questionsOf(ctx, w.tx, live)
	if err != nil {
		return err
	}
	by := ByCaller
	for _, q := range openQuestions(questions) {
		if answerer(q.question) == ByPerson {
			by = ByPerson
		}
	}
	out.Blockers[inTheWay].ClearedBy = by
	return nil
}

// PreflightUpdate says what an update would be refused for and would ask, and changes nothing. Error:
// NotFound.
func (s *Service) PreflightUpdate(ctx context.Context, c Caller, r UpdateRequest) (Preflight, error) {
	return s.preflightInstance(ctx, c, r.InstanceID, r.IfMatch, func(w *write, in *instanceRow, live *jobRow) (Preflight, error) {
		p, blockers, err := s.planUpdate(ctx, w, c, in, live, r)
		out := Preflight{Blockers: blockers}
		if p == nil || err != nil {
			return out, err
		}
		out.Price, out.Objects = p.plan.Price, s.namesOf(in)
		if p.cost != nil && p.cost.answer == nil {
			out.Questions = []provider.Question{p.cost.question}
		}
		return out, nil
	})
}

// PreflightDelete says what a deletion would be refused for and would ask, and deletes nothing. Error:
// NotFound.
func (s *Service) PreflightDelete(ctx context.Context, c Caller, r DeleteRequest) (Preflight, error) {
	return s.preflightInstance(ctx, c, r.InstanceID, r.IfMatch, func(_ *write, in *instanceRow, live *jobRow) (Preflight, error) {
		var out Preflight
		if in.state == InstanceDeleted || live != nil && live.Operation == OpDeprovision {
			return out, nil
		}
		out.Objects = s.namesOf(in)
		if err := in.mayBeDeleted(); err != nil {
			out.Blockers = append(out.Blockers, blockerOf(err, ""))
		}
		if j := newOperation(in, OpDeprovision); s.mustConfirm(c, in, j) {
			out.Questions = []provider.Question{s.planOf(j).DestroyQuestion(in.title())}
			if live != nil {
				out.Blockers = append(out.Blockers, blockerOf(inProgress(live), ""))
			}
		}
		return out, nil
	})
}

// preflightInstance looks at an instance as the real call would, and rolls back.
func (s *Service) preflightInstance(ctx context.Context, c Caller, instanceID, ifMatch string,
	look func(*write, *instanceRow, *jobRow) (Preflight, error),
) (Preflight, error) {
	return again(func() (out Preflight, err error) {
		err = s.write(ctx, func(w *write) error {
			live, in, err := s.lockInstance(ctx, w.tx, c.TenantID, instanceID)
			if err != nil {
				return err
			}
			if out, err = look(w, in, live); err != nil {
				return err
			}
			if err := out.nameAnswerer(ctx, w, live); err != nil {
				return err
			}
			if err := in.matches(ifMatch); err != nil {
				out.Blockers = append([]Blocker{blockerOf(err, "")}, out.Blockers...)
			}
			return nil
		})
		return out, err
	})
}

// namesOf are the names that an instance has outside.
func (s *Service) namesOf(in *instanceRow) []provider.Object {
	service, ok := s.Catalog().Service(in.service)
	if !ok {
		return nil
	}
	namer, ok := service.Driver.(provider.Namer)
	if !ok {
		return nil
	}
	return namer.Names(&provider.Request{InstanceID: in.id, Settings: in.settings, Parameters: in.parameters()})
}

// namesOfNew are the names that a new instance would have.
func (s *Service) namesOfNew(p *startPlan, bind bool) []provider.Object {
	namer, ok := p.service.Driver.(provider.Namer)
	if !ok {
		return nil
	}
	r := &provider.Request{InstanceID: newID("inst"), Settings: p.plan.Settings, Parameters: p.public}
	if bind {
		r.BindingID = newID("bind")
	}
	_, instance, _ := strings.Cut(r.InstanceID, "_")
	_, binding, _ := strings.Cut(r.BindingID, "_")
	var replace []string
	for placeholder, id := range map[string]string{"{instance_id}": instance, "{binding_id}": binding} {
		if id != "" {
			replace = append(replace, id, placeholder)
		}
	}
	names := namer.Names(r)
	for i := range names {
		names[i].Name = strings.NewReplacer(replace...).Replace(names[i].Name)
	}
	return names
}

// neededAnswer says how to come by an answer that on_question "fail" needs in advance. An agent must not
// learn a secret to give it.
func neededAnswer(q provider.Question) string {
	detail := "is needed where on_question is \"fail\""
	switch {
	case q.PersonOnly:
		return detail + "; a person has to decide it: leave on_question out to have it asked on a page, or let the person start"
	case q.Secret:
		return detail + "; it is secret: leave on_question out to have a person asked on a page, or let the person start"
	default:
		return detail
	}
}

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

// blockedError makes one error of all blockers: the first one's code, and the rules by field.
func blockedError(blockers []Blocker) error {
	if len(blockers) == 1 && blockers[0].refusal != nil {
		return blockers[0].refusal
	}
	e := &Error{Code: blockers[0].Code, Detail: blockers[0].Detail, JobID: blockers[0].JobID}
	if len(blockers) == 1 && blockers[0].Pointer == "" {
		return e
	}
	for _, b := range blockers {
		e.Fields = append(e.Fields, catalog.FieldError{Pointer: b.Pointer, Detail: b.Detail})
	}
	slices.SortStableFunc(e.Fields, func(a, b catalog.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	e.Detail = fmt.Sprintf("%s: %s", e.Fields[0].Pointer, e.Fields[0].Detail)
	if n := len(e.Fields); n > 1 {
		e.Detail = fmt.Sprintf("The request has %d errors.", n)
	}
	return e
}

// escapePointer escapes one step of a JSON Pointer (RFC 6901, section 3).
func escapePointer(step string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
}
