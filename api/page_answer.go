package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api/pages"
	"github.com/provisiond/provisiond/jobs"
)

// asked is a question with what a person wants to know to answer it.
type asked struct {
	*jobs.Question

	job   jobs.Job
	about pages.About
}

// findQuestion finds the question that the path names. Error: NotFound.
func (s *server) findQuestion(c echo.Context) (*asked, error) {
	ctx, caller, id := c.Request().Context(), callOf(c).caller, pathValue(c, "question_id")
	if !questionIDForm.MatchString(id) {
		return nil, errNoQuestionPage
	}
	job, err := s.service.JobOfQuestion(ctx, caller, id)
	if errors.Is(err, jobs.NotFound) {
		return nil, errNoQuestionPage
	}
	if err != nil {
		return nil, err
	}
	q, ok := job.Question(id)
	if !ok {
		return nil, errNoQuestionPage
	}
	about, err := s.about(ctx, caller, &job)
	if err != nil {
		return nil, err
	}
	if q.Price != nil {
		about.Price = q.Price.String()
	}
	return &asked{q, job, about}, nil
}

// takesAnswer reports whether an answer could be taken now.
func (a *asked) takesAnswer() bool {
	return a.State == jobs.QuestionOpen && a.ExpiresAt.After(a.job.Now)
}

func (s *server) showQuestion(c echo.Context) error {
	q, err := s.findQuestion(c)
	if err != nil {
		return err
	}
	if !q.takesAnswer() {
		return s.showClosed(c, http.StatusOK, q)
	}
	form, err := newForm(q.Question)
	if err != nil {
		return err
	}
	return q.show(c, http.StatusOK, form, nil)
}

// takeAnswer gives the core what was posted, as AnswerQuestion does, and shows the question again where
// the core refuses it.
func (s *server) takeAnswer(c echo.Context) error {
	q, err := s.findQuestion(c)
	if err != nil {
		return err
	}
	posted, err := readForm(c.Request())
	if err != nil {
		return err
	}
	form, err := newForm(q.Question)
	if err != nil {
		return err
	}
	answer := jobs.AnswerRequest{JobID: q.job.ID, QuestionID: q.ID, Action: posted.Get("action")}
	switch answer.Action {
	case jobs.ActionAccept:
		answer.Content = form.read(posted)
	case jobs.ActionDecline:
	default:
		return malformed("/action", "must be accept or decline")
	}
	_, err = s.service.Answer(c.Request().Context(), callOf(c).caller, answer)
	refusal, _ := errors.AsType[*jobs.Error](err)
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, q.next())
	case refusal != nil && len(refusal.Fields) > 0:
		return q.show(c, http.StatusUnprocessableEntity, form, form.blame(refusal.Fields))
	case errors.Is(err, jobs.QuoteChanged):
		if q, err = s.findQuestion(c); err != nil { // for the question that takes its place
			return err
		}
		return q.showAs(c, http.StatusConflict, "The price has changed", "Your answer was not taken. The job asks again with what holds now.")
	case isClosed(err):
		if q, err = s.findQuestion(c); err != nil {
			return err
		}
		return s.showClosed(c, http.StatusConflict, q)
	default:
		return err
	}
}

// isClosed reports whether the question takes no answer any more.
func isClosed(err error) bool {
	return errors.Is(err, jobs.QuestionAlreadyAnswered) || errors.Is(err, jobs.QuestionHasExpired) ||
		errors.Is(err, jobs.QuestionWasWithdrawn)
}

// next is where to go after the answer.
func (a *asked) next() string {
	if a.about.MayWatch {
		return jobPath(a.job.ID)
	}
	return answerPath(a.ID)
}

func (a *asked) show(c echo.Context, status int, f *form, faults []pages.Fault) error {
	title := a.Message
	if len(faults) > 0 {
		title = "Error: " + title
	}
	onExpiry := "Without an answer the job fails then."
	if a.Default != nil {
		onExpiry = "Without an answer the default is taken then."
	}
	return show(c, status, pages.Page{Title: title, SignedIn: true, Body: pages.Answer{
		About: a.about, Question: a.Message, Secret: a.Secret,
		Expires: pages.NewMoment(a.ExpiresAt, a.job.Now), OnExpiry: onExpiry, Fields: f.shown(), Faults: faults,
	}})
}

// showClosed says why the question takes no answer.
func (s *server) showClosed(c echo.Context, status int, a *asked) error {
	switch a.State {
	case jobs.QuestionAnswered:
		declined, err := s.service.WasDeclined(c.Request().Context(), callOf(c).caller, a.job.ID, a.ID)
		if err != nil {
			return err
		}
		if declined {
			return a.showAs(c, status, "This question was declined", declinedInWords(&a.job))
		}
		return a.showAs(c, status, "This question is already answered", "The first answer counts, and it cannot be changed.")
	case jobs.QuestionWithdrawn:
		return a.showAs(c, status, "This question was withdrawn", "The job no longer asks it, so it takes no answer.")
	default: // it is still open where no sweep has seen it since
		return a.showAs(c, status, "This question has expired", "It takes no answer any more.")
	}
}

func (a *asked) showAs(c echo.Context, status int, heading, text string) error {
	return show(c, status, pages.Page{Title: heading, SignedIn: true, Body: pages.Closed{
		About: a.about, Question: a.Message, Heading: heading, Text: text, Open: openQuestions(&a.job),
	}})
}

// openQuestions links to what the job still asks.
func openQuestions(j *jobs.Job) []pages.Link {
	var links []pages.Link
	for i := range j.Questions {
		if q := &j.Questions[i]; q.State == jobs.QuestionOpen {
			links = append(links, pages.Link{
				ID: q.ID, Path: answerPath(q.ID), Text: q.Message,
				Note: "expires " + pages.NewMoment(q.ExpiresAt, j.Now).Away,
			})
		}
	}
	return links
}
