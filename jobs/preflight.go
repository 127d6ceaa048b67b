package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"

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
