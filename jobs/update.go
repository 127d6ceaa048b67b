package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// UpdateRequest asks for changes of an instance. Zero fields change nothing.
type UpdateRequest struct {
	InstanceID string
	// Plan is another plan, or the instance's own, to take over what has changed in it since.
	Plan string
	// Parameters replace those of their names; nil values take parameters away.
	Parameters map[string]any
	// Answers in advance, by question name, as in StartRequest.
	Answers        map[string]any
	FailOnQuestion bool
	Labels         map[string]string // replaces all, where not nil
	// ExpiresIn is the instance's time to live from now on; NoExpiry takes its end away.
	ExpiresIn time.Duration
	NoExpiry  bool
	Protected *bool
	// IfMatch is the ETag of the instance that the caller has seen; "" is any.
	IfMatch        string
	IdempotencyKey string // "" = none
}

// UpdateResult is what came of an update. Job is nil where nothing is left to do.
type UpdateResult struct {
	Job      *Job
	Replayed bool
}

// change is what an update changes an instance to, as it is sealed.
type change struct {
	PlanVersion string          `json:"plan_version"`
	Settings    json.RawMessage `json:"settings"`
	Public      map[string]any  `json:"public"`
	Secret      map[string]any  `json:"secret"`
}

// Update changes labels, expiry and protection at once, and starts a job that changes plan and
// parameters. All of it is refused, or none.
//
// Errors: NotFound, PreconditionFailed, InvalidRequest, PersonRequired, UnknownPlan,
// PlanChangeNotAllowed, PlanRemoved, UpdateNotRepeatable, OperationInProgress, InstanceNotActive,
// InputIsRequired, IdempotencyKeyReused, IdempotencyInProgress.
func (s *Service) Update(ctx context.Context, c Caller, r UpdateRequest) (UpdateResult, error) {
	same := r
	same.IdempotencyKey = ""
	result, err := again(func() (Result, error) {
		return s.idempotent(ctx, c, r.IdempotencyKey, "update", same, func(w *write) (Result, error) {
			return s.update(ctx, w, c, r)
		})
	})
	out := UpdateResult{Replayed: result.Replayed}
	if result.Job.ID != "" {
		out.Job = &result.Job
	}
	return out, err
}

func (s *Service) update(ctx context.Context, w *write, c Caller, r UpdateRequest) (Result, error) {
	live, in, err := s.lockInstance(ctx, w.tx, c.TenantID, r.InstanceID)
	if err != nil {
		return Result{}, err
	}
	if err := in.matches(r.IfMatch); err != nil {
		return Result{}, err
	}
	p, blockers, err := s.planUpdate(ctx, w, c, in, live, r)
	if err != nil {
		return Result{}, err
	}
	if len(blockers) > 0 {
		return Result{}, blockedError(blockers)
	}
	if err := s.patch(ctx, w, c, in, r); err != nil {
		return Result{}, err
	}
	if p == nil {
		return Result{}, nil
	}
	return s.beginUpdate(ctx, w, c, in, r, p)
}

// updatePlan is an update request held against the instance and the catalog.
type updatePlan struct {
	plan    *catalog.Plan
	change  change
	changed []string // names of the parameters with another value
	cost    *ask
}

// planUpdate says what an update comes to: nil where no job is needed, and all that it is refused for.
func (s *Service) planUpdate(ctx context.Context, w *write, c Caller, in *instanceRow, live *jobRow, r UpdateRequest) (*updatePlan, []Blocker, error) {
	p, blockers := s.holdUpdate(c, in, live, r)
	if p == nil || in.updateRepeatable {
		return p, blockers, nil
	}
	repeats, err := s.repeatsLast(ctx, w, in, p)
	if repeats {
		blockers = append(blockers, blocker(UpdateNotRepeatable, "", "the same update has failed in a way that must not be repeated; change something else, or ask an operator", ByOperator))
	}
	return p, blockers, err
}

// repeatsLast reports whether an update is the one that was tried last.
func (s *Service) repeatsLast(ctx context.Context, w *write, in *instanceRow, p *updatePlan) (bool, error) {
	last := &jobRow{tenantID: in.tenantID}
	err := w.tx.QueryRow(ctx, `
		SELECT id, plan, change FROM job WHERE instance_id = $1 AND operation = 'update' AND change IS NOT NULL ORDER BY id DESC LIMIT 1`, in.id).
		Scan(&last.ID, &last.Plan, &last.change)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // it is long ago
	}
	if err != nil {
		return false, fmt.Errorf("find last update: %w", err)
	}
	var before change
	if err := s.cfg.Sealer.open(changePlace(last), last.change, &before); err != nil {
		return false, err
	}
	return last.Plan == p.plan.ID && equalJSON(before, p.change), nil
}

// holdUpdate holds an update against the instance and the catalog.
func (s *Service) holdUpdate(c Caller, in *instanceRow, live *jobRow, r UpdateRequest) (*updatePlan, []Blocker) {
	blockers := in.patchBlockers(s, r)
	if r.Plan == "" && len(r.Parameters) == 0 {
		return nil, append(blockers, strayAnswers(r.Answers, nil)...)
	}
	service, from, err := s.livePlan(in)
	if err != nil {
		return nil, append(append(blockers, blockerOf(err, "/plan")), in.freeBlockers(live)...)
	}
	to, blocked := target(service, from, r.Plan)
	if to == nil { // the rest is held against the plan that the instance keeps
		keeps := &updatePlan{plan: from}
		blockers = append(append(blockers, blocked...), keeps.take(c, in, r)...)
		return nil, append(blockers, in.freeBlockers(live)...)
	}
	p := &updatePlan{plan: to}
	blockers = append(blockers, p.take(c, in, r)...)
	if !p.changes(in, r) {
		return nil, append(blockers, strayAnswers(r.Answers, nil)...)
	}
	blockers = append(blockers, p.takeCost(in, r)...)
	return p, append(blockers, in.freeBlockers(live)...)
}

// freeBlockers is isFree for a preflight.
func (in *instanceRow) freeBlockers(live *jobRow) []Blocker {
	if err := in.isFree(live); err != nil {
		return []Blocker{blockerOf(err, "")}
	}
	return nil
}

// target is the plan that the instance shall have then. Without one it says why.
func target(service *catalog.Service, from *catalog.Plan, id string) (*catalog.Plan, []Blocker) {
	if id == "" || id == from.ID {
		return from, nil
	}
	to, known := service.Plan(id)
	switch {
	case !known:
		return nil, []Blocker{blocker(UnknownPlan, "/plan", "the service has no such plan; it has: "+planIDs(service), ByCaller)}
	case !slices.Contains(from.UpdatesTo, id):
		allowed := "its instances keep it"
		if len(from.UpdatesTo) > 0 {
			allowed = "it may change to: " + strings.Join(from.UpdatesTo, ", ")
		}
		return nil, []Blocker{blocker(PlanChangeNotAllowed, "/plan", "the instance's plan may not change to this one; "+allowed, ByCaller)}
	}
	return to, nil
}

// take merges the parameters. Those that the request leaves as they are stay valid, whatever the plan's
// schema has become since the start; those that the new plan does not have are dropped.
func (p *updatePlan) take(c Caller, in *instanceRow, r UpdateRequest) []Blocker {
	have := in.parameters()
	merged := map[string]any{}
	for name, value := range have {
		if p.plan.Has(name) {
			merged[name] = value
		}
	}
	var blockers []Blocker
	refuse := func(name, why string, code Code, by Clearer) {
		blockers = append(blockers, blocker(code, "/parameters/"+escapePointer(name), why, by))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		value := r.Parameters[name]
		before, had := have[name]
		if value == nil && had && p.plan.Has(name) {
			delete(merged, name)
		} else if value != nil {
			merged[name] = value
		}
		if equalJSON(before, value) {
			continue
		}
		p.changed = append(p.changed, name)
		switch {
		case !p.plan.Has(name): // the schema says so
		case had && !p.plan.IsMutable(name):
			refuse(name, "cannot be changed after the start", InvalidRequest, ByCaller)
		case !c.isPerson() && p.plan.ParameterQuestion(name).PersonOnly:
			refuse(name, "only a person may decide this", PersonRequired, ByPerson)
		}
	}
	filled, missing, errs := p.plan.CheckParameters(merged)
	for _, name := range missing {
		refuse(name, "is required by the plan", InvalidRequest, ByCaller)
	}
	for _, e := range errs {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.Pointer, "/"), "/")
		if _, given := r.Parameters[name]; given || p.plan.ID != in.plan || name == "" {
			blockers = append(blockers, blocker(InvalidRequest, "/parameters"+e.Pointer, e.Detail, ByCaller))
		}
	}
	p.change = change{PlanVersion: in.planVersion, Settings: in.settings}
	if r.Plan != "" {
		p.change.PlanVersion, p.change.Settings = p.plan.Version, orEmpty(p.plan.Settings)
	}
	p.change.Public, p.change.Secret = split(p.plan, filled)
	return blockers
}

// changes reports whether there is anything for a driver to do.
func (p *updatePlan) changes(in *instanceRow, r UpdateRequest) bool {
	return len(p.changed) > 0 || r.Plan != "" && (r.Plan != in.plan || p.plan.Version != in.planVersion)
}

// takeCost adds the question for the new plan's price, answered where the request has confirmed it. A
// change of parameters alone costs what was agreed to.
func (p *updatePlan) takeCost(in *instanceRow, r UpdateRequest) []Blocker {
	if p.change.PlanVersion == in.planVersion && p.plan.ID == in.plan {
		return strayAnswers(r.Answers, nil)
	}
	question, asked := p.plan.CostQuestion()
	if !asked {
		return strayAnswers(r.Answers, nil)
	}
	p.cost = &ask{question: question, origin: originCost}
	value, given := r.Answers[question.Name]
	if !given {
		blockers := strayAnswers(r.Answers, nil)
		if r.FailOnQuestion {
			blockers = append(blockers, blocker(InputIsRequired, "/answers/"+question.Name, neededAnswer(question), ByCaller))
		}
		return blockers
	}
	blockers := strayAnswers(r.Answers, []string{question.Name})
	content, errs := acceptedCost(question, value)
	if len(errs) > 0 {
		return append(blockers, blocker(InvalidRequest, "/answers/"+question.Name+errs[0].Pointer, errs[0].Detail, ByCaller))
	}
	p.cost.answer = content
	return blockers
}

// acceptedCost is the content of an answer in advance that says yes to the price.
func acceptedCost(question provider.Question, value any) (map[string]any, []catalog.FieldError) {
	content, errs := catalog.NormalizeAnswer(question.Schema, value)
	if len(errs) == 0 && !confirmed(content) {
		errs = []catalog.FieldError{{Detail: "must be true to start; leave it out to be asked"}}
	}
	return content, errs
}

// strayAnswers refuses answers to questions that an update does not ask before its job runs.
func strayAnswers(answers map[string]any, asked []string) []Blocker {
	var blockers []Blocker
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if !slices.Contains(asked, name) {
			blockers = append(blockers, blocker(InvalidRequest, "/answers/"+escapePointer(name), "is not asked by this update; give parameters in parameters", ByCaller))
		}
	}
	return blockers
}

// equalJSON compares values as they come from JSON, however their numbers were decoded.
func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// beginUpdate inserts the job, which asks for the price or runs.
func (s *Service) beginUpdate(ctx context.Context, w *write, c Caller, in *instanceRow, r UpdateRequest, p *updatePlan) (Result, error) {
	j := newOperation(in, OpUpdate)
	j.Plan, j.failOnAsk = p.plan.ID, r.FailOnQuestion
	var err error
	if j.change, err = s.cfg.Sealer.seal(changePlace(j), p.change); err != nil {
		return Result{}, err
	}
	asks := p.cost != nil && p.cost.answer == nil
	if asks {
		j.epoch = 0 // so that the answer raises it to the first one
	}
	if err := s.insertOperation(ctx, w, c, in, j); err != nil {
		return Result{}, err
	}
	questions := p.questionRows(s, j)
	if asks {
		err = s.askFirst(ctx, w, j, questions)
	} else {
		w.ticket(j)
		err = s.insertQuestions(ctx, w, j, questions)
	}
	if err != nil {
		return Result{}, err
	}
	job, err := getJob(ctx, w.tx, c.TenantID, j.ID)
	return Result{Job: job}, err
}

// askFirst makes a job ask that was inserted in this transaction.
func (s *Service) askFirst(ctx context.Context, w *write, j *jobRow, questions []*questionRow) error {
	locked, err := lockJob(ctx, w.tx, j.ID, `FOR UPDATE`)
	if err != nil {
		return err
	}
	return s.ask(ctx, w, locked, questions)
}

func (p *updatePlan) questionRows(s *Service, j *jobRow) []*questionRow {
	if p.cost == nil {
		return nil
	}
	q := newQuestionRow(j, p.cost.question, originCost, s.expiryOf(p.plan, p.cost.question))
	q.quote = quoteOf(p.plan)
	if p.cost.answer != nil {
		q.state, q.answer = QuestionAnswered, &givenAnswer{Action: ActionAccept, Content: p.cost.answer}
	}
	return []*questionRow{q}
}

func changePlace(j *jobRow) place { return place{j.tenantID, "job", j.ID, "change"} }

// loadChange puts what an update changes the instance to in the place of what it is.
func (s *Service) loadChange(j *jobRow, r *provider.Request, secrets *secrets) error {
	var to change
	if err := s.cfg.Sealer.open(changePlace(j), j.change, &to); err != nil {
		return err
	}
	r.Previous = &provider.Configuration{Settings: r.Settings, Parameters: r.Parameters}
	r.Settings, r.Parameters = to.Settings, to.Public
	maps.Copy(r.Parameters, to.Secret)
	secrets.add(to.Secret)
	return nil
}

// applyChange makes the instance what its update has changed it to.
func (s *Service) applyChange(ctx context.Context, w *write, j *jobRow, endpoint provider.Endpoint) error {
	var to change
	if err := s.cfg.Sealer.open(changePlace(j), j.change, &to); err != nil {
		return err
	}
	secret, err := s.cfg.Sealer.sealMap(place{j.tenantID, "instance", j.InstanceID, "secret_parameters"}, to.Secret)
	if err != nil {
		return err
	}
	public, err := json.Marshal(to.Public)
	where, err2 := json.Marshal(endpoint)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("apply change: %w", err)
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET plan = $2, plan_version = $3, settings = $4, parameters = $5, secret_parameters = $6, endpoint = $7,
		       usable = true, update_repeatable = true, updated_at = clock_timestamp()
		WHERE id = $1`, j.InstanceID, j.Plan, to.PlanVersion, to.Settings, public, secret, where)
	return wrap("apply change", err)
}

// markUpdate notes what a failed update has left behind.
func markUpdate(ctx context.Context, w *write, j *jobRow, err error) error {
	var e *provider.Error
	if j.Operation != OpUpdate || !errors.As(err, &e) {
		return nil
	}
	_, err = w.tx.Exec(ctx, `
		UPDATE instance SET usable = $2, update_repeatable = $3, updated_at = clock_timestamp() WHERE id = $1`,
		j.InstanceID, !e.Unusable, !e.NotRepeatable)
	return wrap("mark instance", err)
}
