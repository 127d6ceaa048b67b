package catalog

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/provisiond/provisiond/provider"
)

func (l *loader) plan(n *node, s *Service, seen ids) Plan {
	o := l.object(n, "id", "name", "description", "price", "confirm_cost", "confirm_destroy", "deadline", "question_expiry",
		"updates_to", "expiry", "check_every", "parameters", "settings")
	o.require("id", "name")
	p := Plan{
		ID:             l.id(o.get("id"), seen),
		Name:           l.text(o.get("name")),
		Description:    l.text(o.get("description")),
		ConfirmCost:    l.boolean(o.get("confirm_cost")),
		DestroyUnasked: o.get("confirm_destroy") != nil && !l.boolean(o.get("confirm_destroy")),
		Price:          l.price(o.get("price")),
		UpdatesTo:      l.texts(o.get("updates_to")),
		Expiry:         l.expiry(o.get("expiry")),
		CheckEvery:     l.duration(o.get("check_every")),
		Deadline:       l.duration(o.get("deadline")),
		QuestionExpiry: l.duration(o.get("question_expiry")),
		Settings:       l.json(o.get("settings")),
		serviceName:    s.Name,
	}
	if p.ConfirmCost && o.get("price") == nil {
		l.add(o.get("confirm_cost"), "needs a price")
	}
	if checker, ok := s.Driver.(provider.PlanChecker); ok {
		if err := checker.CheckPlan(p.Settings); err != nil {
			l.add(o.or("settings"), "%v", err)
		}
	}
	l.parameters(o.get("parameters"), &p)
	p.Version = version(&p)
	return p
}

// DefaultWarning is how long before its end an instance's expiry is announced.
const DefaultWarning = 24 * time.Hour

func (l *loader) expiry(n *node) Expiry {
	if n == nil {
		return Expiry{Warning: DefaultWarning}
	}
	o := l.object(n, "default", "max", "warning")
	e := Expiry{
		Default: l.duration(o.get("default")),
		Max:     l.duration(o.get("max")),
		Warning: cmp.Or(l.duration(o.get("warning")), DefaultWarning),
	}
	if e.Max > 0 && e.Default > e.Max {
		l.add(o.get("default"), "must not be longer than max")
	}
	if e.Default == 0 {
		e.Default = e.Max
	}
	return e
}

// updates checks the plans that each plan may change to, once all are known.
func (l *loader) updates(items []*node, s *Service) {
	for i, p := range s.Plans {
		for j, to := range p.UpdatesTo {
			_, known := s.Plan(to)
			at := items[i].find([]string{"updates_to", strconv.Itoa(j)})
			switch {
			case !known:
				l.add(at, "must be a plan of the service")
			case to == p.ID:
				l.add(at, "must be another plan")
			case slices.Contains(p.UpdatesTo[:j], to):
				l.add(at, "is given twice")
			}
		}
	}
}

var (
	amountForm   = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	perForm      = regexp.MustCompile(`^(month|hour|once)$`)
)

func (l *loader) price(n *node) *Price {
	if n == nil {
		return nil
	}
	o := l.object(n, "amount", "currency", "per")
	o.require("amount", "currency", "per")
	return &Price{
		Amount:   l.formed(o.get("amount"), amountForm, `a decimal number in quotes, such as "5.00"`),
		Currency: l.formed(o.get("currency"), currencyForm, "an ISO 4217 code of three capitals, such as USD"),
		Per:      l.formed(o.get("per"), perForm, "month, hour or once"),
	}
}

// formed reads a string that must match the form, which words say better than the pattern.
func (l *loader) formed(n *node, form *regexp.Regexp, words string) string {
	if n == nil {
		return ""
	}
	s, _ := n.value.(string)
	if !form.MatchString(s) {
		l.add(n, "must be %s", words)
	}
	return s
}
