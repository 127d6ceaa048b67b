package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// claim takes the job of a ticket for the worker and reads what its driver needs. It returns nil
// where the ticket is stale, or where the job was settled without its driver.
func (s *Service) claim(ctx context.Context, workerID string, t ticketArgs) (*segment, error) {
	seg, err := s.claimOnce(ctx, workerID, t)
	if errors.Is(err, errNoKey) {
		return nil, errors.Join(err, s.setAside(ctx, t))
	}
	return seg, err
}

// setAsideFor is how long a job waits for a worker that can open its secrets.
const setAsideFor = 5 * time.Second

// setAside says why the job does not run: this worker has another keyset than the one that sealed the
// job's secrets. Another worker may have the right one.
func (s *Service) setAside(ctx context.Context, t ticketArgs) error {
	return s.write(ctx, func(w *write) error {
		j, err := lockJob(ctx, w.tx, t.JobID, claimable, t.Epoch)
		if err != nil {
			return err
		}
		j.Progress = Progress{
			Percent: j.Progress.Percent, Step: stepRetry,
			Message: "A worker could not open the job's secrets: its keyset lacks the key. The job waits for one that can.",
		}
		j.to(queued)
		j.epoch++
		j.due(setAsideFor)
		return s.saveJob(ctx, w, j)
	})
}

// claimable: the ticket's epoch is the job's, and nobody runs it.
const claimable = `AND j.epoch = $2 AND j.phase IN ('queued', 'waiting_on_provider') AND j.waits_for IS NULL FOR UPDATE`

func (s *Service) claimOnce(ctx context.Context, workerID string, t ticketArgs) (*segment, error) {
	var seg *segment
	err := s.write(ctx, func(w *write) error {
		j, err := lockJob(ctx, w.tx, t.JobID, claimable, t.Epoch)
		if errors.Is(err, NotFound) {
			return nil // a stale ticket
		}
		if err != nil {
			return err
		}
		if settled, err := s.settleBeforeClaim(ctx, w, j); settled || err != nil {
			return err
		}
		j.to(running)
		j.owner = workerID
		until := j.Now.Add(s.cfg.Lease)
		j.leaseUntil, j.dueAt = &until, &until
		j.Progress = claimProgress(j)
		if err := s.saveJob(ctx, w, j); err != nil {
			return err
		}
		w.event(j, actorWorker, "job.running", map[string]any{"worker": workerID, "epoch": j.epoch})
		seg, err = s.loadSegment(ctx, w, j)
		return err
	})
	if err != nil {
		return nil, err
	}
	return seg, nil
}

func claimProgress(j *jobRow) Progress {
	if j.Progress.Step == stepQueued {
		return Progress{Percent: j.Progress.Percent, Step: "running", Message: "Runs."}
	}
	return j.Progress
}

// settleBeforeClaim handles what needs no driver call: a deadline that has passed, an instance that no
// driver has ever seen, a price that has changed since it was confirmed.
func (s *Service) settleBeforeClaim(ctx context.Context, w *write, j *jobRow) (bool, error) {
	switch {
	case !j.DeadlineAt.After(j.Now):
		return true, s.deadline(ctx, w, j, actorWorker)
	case j.Operation == OpDeprovision && !j.touched:
		return true, s.finish(ctx, w, j, Succeeded, actorWorker)
	case j.Operation == OpProvision && !j.touched && j.ending == "", j.Operation == OpUpdate && j.neverRan():
		return s.askIfQuoteChanged(ctx, w, j)
	}
	return false, nil
}

// askIfQuoteChanged asks for the price again when the confirmed one no longer holds and nothing has
// been made yet.
func (s *Service) askIfQuoteChanged(ctx context.Context, w *write, j *jobRow) (bool, error) {
	plan := s.planOf(j)
	if plan == nil || !plan.ConfirmCost {
		return false, nil
	}
	questions, err := questionsOf(ctx, w.tx, j)
	if err != nil || j.Operation == OpUpdate && len(questions) == 0 { // of parameters alone, which cost nothing
		return false, err
	}
	for _, q := range questions {
		if q.origin == originCost && q.state == QuestionAnswered && q.quote.holds(plan) {
			return false, nil
		}
	}
	question, _ := plan.CostQuestion()
	again := newQuestionRow(j, question, originCost, s.expiryOf(plan, question))
	again.quote = quoteOf(plan)
	if !j.failOnAsk {
		return true, s.ask(ctx, w, j, []*questionRow{again})
	}
	again.state = QuestionWithdrawn
	if err := s.insertQuestions(ctx, w, j, []*questionRow{again}); err != nil {
		return true, err
	}
	return true, s.fail(ctx, w, j, inputRequired(), actorWorker)
}

// deadline handles a locked job, not running, whose deadline has passed.
func (s *Service) deadline(ctx context.Context, w *write, j *jobRow, actor string) error {
	if j.ending != "" {
		return s.giveUpCleanup(ctx, w, j, nil, deadlineError(j), actor)
	}
	return s.fail(ctx, w, j, deadlineError(j), actor)
}

func deadlineError(j *jobRow) *JobError {
	e := &JobError{Code: codeDeadline, Message: "The job was not done by its deadline.", Retryable: true}
	if j.Progress.Step == stepRetry {
		e.Message = clip(e.Message+" "+j.Progress.Message, 1000)
	}
	return e
}

// segment is one run of a job's driver, from a claim to the commit of what came of it.
type segment struct {
	s          *Service
	job        Job
	tenantID   string
	epoch      int64
	ending     State // as claimed
	driverName string
	driver     provider.Driver // nil where this worker's catalog lacks the service
	request    provider.Request
	// state is the last checkpoint; it is request.State of the segment's next call of the driver.
	state []byte
	// deadline is how long the segment may take, from the claim.
	deadline time.Duration
	secrets  secrets
}

// loadSegment reads what the driver needs, in the transaction of the claim.
func (s *Service) loadSegment(ctx context.Context, w *write, j *jobRow) (*segment, error) {
	seg := &segment{
		s: s, job: j.Job, tenantID: j.tenantID, epoch: j.epoch, ending: j.ending, driverName: j.driver,
		deadline: j.DeadlineAt.Sub(j.Now),
	}
	// A service that has been given another driver since would not know what this one has made.
	if service, ok := s.Catalog().Service(j.Service); ok && service.DriverName == j.driver {
		seg.driver = service.Driver
	}
	parameters, err := s.loadInstance(ctx, w, j, &seg.request)
	if err != nil {
		return nil, err
	}
	seg.state = seg.request.State
	seg.secrets.add(parameters)
	seg.request.InstanceID, seg.request.BindingID = j.InstanceID, j.BindingID
	if j.Operation == OpUpdate {
		if err := s.loadChange(j, &seg.request, &seg.secrets); err != nil {
			return nil, err
		}
	}
	if j.Operation == OpCheck {
		if seg.request.Bindings, err = liveBindings(ctx, w, j.InstanceID); err != nil {
			return nil, err
		}
	}
	seg.request.Answers, err = s.loadAnswers(ctx, w, j, &seg.secrets)
	return seg, err
}

// loadInstance fills in settings, parameters and state, and returns the secret parameters. It marks
// the instance as touched: from here on something may exist outside, where the configuration points.
func (s *Service) loadInstance(ctx context.Context, w *write, j *jobRow, r *provider.Request) (map[string]any, error) {
	var public, sealedSecret, sealedState, digest []byte
	var err error
	if !j.touched {
		if digest, err = s.sealConfig(j); err != nil {
			return nil, err
		}
	}
	err = w.tx.QueryRow(ctx, `
		UPDATE instance SET touched = true, config_digest = coalesce($2, config_digest) WHERE id = $1
		RETURNING settings, parameters, secret_parameters, provider_state`, j.InstanceID, digest).
		Scan(&r.Settings, &public, &sealedSecret, &sealedState)
	if err != nil {
		return nil, fmt.Errorf("load instance: %w", err)
	}
	secret := map[string]any{}
	at := func(column string) place { return place{j.tenantID, "instance", j.InstanceID, column} }
	err = errors.Join(json.Unmarshal(public, &r.Parameters),
		s.cfg.Sealer.open(at("secret_parameters"), sealedSecret, &secret),
		s.cfg.Sealer.open(at("provider_state"), sealedState, &r.State))
	if err != nil {
		return nil, fmt.Errorf("load instance: %w", err)
	}
	maps.Copy(r.Parameters, secret)
	return secret, nil
}

// liveBindings are the IDs of the bindings that should exist outside, oldest first.
func liveBindings(ctx context.Context, w *write, instanceID string) ([]string, error) {
	rows, err := w.tx.Query(ctx, `SELECT id FROM binding WHERE instance_id = $1 AND state = 'active' ORDER BY id`, instanceID)
	if err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, wrap("read bindings", err)
}

// loadAnswers reads the answers to the driver's own questions.
func (s *Service) loadAnswers(ctx context.Context, w *write, j *jobRow, secrets *secrets) (map[string]map[string]any, error) {
	questions, err := questionsOf(ctx, w.tx, j)
	if err != nil {
		return nil, err
	}
	answers := map[string]map[string]any{}
	for _, q := range questions {
		a, err := s.openAnswer(q)
		if err != nil {
			return nil, err
		}
		if q.origin != originProvider || a == nil || a.Action != ActionAccept {
			continue
		}
		answers[q.question.Name] = a.Content
		if q.question.Secret {
			secrets.add(a.Content)
		}
	}
	return answers, nil
}

// givenAnswers opens the answers that the start call gave in advance.
func (s *Service) givenAnswers(j *jobRow) (map[string]any, error) {
	answers := map[string]any{}
	return answers, s.cfg.Sealer.open(place{j.tenantID, "job", j.ID, "answers"}, j.answers, &answers)
}
