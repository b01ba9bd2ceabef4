package diagnose

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"belay/models"
)

// report is what an endpoint said, as far as it is judged.
type report struct {
	object errorObject
	status int    // the object's own, where HTTP's says less
	text   string // of the error object, or of a plain reply; lower case, without addresses
	page   bool   // a page for people came instead
	plain  bool   // the text stands in no error object
}

func newReport(ev Evidence, object errorObject, source []byte) report {
	r := report{object: object, status: ev.Status, text: judged(strings.Join(object.texts, "\n"))}
	if !object.empty() {
		r.status = object.status(ev.Status)
		return r
	}
	r.page, r.plain = isPage(source), len(source) > 0
	switch {
	case r.page:
		r.text = judged(pageText(source))
	case ev.Status >= 300:
		r.text = judged(string(source[:min(len(source), maxRead)]))
	}
	return r
}

var webAddress = lazyPattern(`https?://[^\s"'<>)\]]+`)

// judged is a text as it is compared with phrases. Addresses are left out:
// "…/settings/billing" says nothing about what failed.
func judged(text string) string {
	return webAddress().ReplaceAllString(strings.ToLower(text[:min(len(text), maxRead)]), "")
}

// status is the one that the error object names, where HTTP's is that of a
// stream or of a relay.
func (w errorObject) status(http int) int {
	if http >= 300 && http < 500 {
		return http
	}
	status := http
	for _, c := range w.codes { // a number in the code's place, as in a 200 of OpenRouter
		n, err := strconv.Atoi(c)
		if err == nil && n >= 400 && n <= 599 && (status < 400 || status >= 500 && n < 500) {
			status = n
		}
	}
	for _, c := range w.codes {
		if n := vagueTypes[codeKey(c)]; n > 0 && status < 400 {
			status = n
		}
	}
	return status
}

// kind names a failure that the endpoint itself reports.
func (r report) kind() models.Kind {
	if k, ok := r.decisive(); ok {
		return k
	}
	for _, c := range r.object.codes {
		if k, ok := kindOfCode(c); ok {
			return r.refine(k, codeKey(c))
		}
	}
	return r.kindByStatus()
}

// decisive finds what says more than any code and status.
func (r report) decisive() (models.Kind, bool) {
	refused := r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
	switch {
	case containsAny(r.text, unverified):
		return models.KindAuth, true
	case r.status != http.StatusUnauthorized && r.object.moderated, r.status == http.StatusForbidden && !r.page &&
		containsAny(r.text, moderated):
		return models.KindRequest, true
	case refused || r.status == http.StatusTooManyRequests:
		return "", false
	case r.object.failedCall, containsAny(r.text, malformedCalls):
		return models.KindMalformed, true
	case containsAny(r.text, wrongPaths), containsAny(r.text, otherAPI):
		return models.KindRequest, true
	}
	return "", false
}

// refine corrects a code whose message is more exact than itself.
func (r report) refine(kind models.Kind, code string) models.Kind {
	switch {
	case kind == models.KindRate:
		return r.allowance(code == codeKey("resource_exhausted"))
	case kind == models.KindBilling && containsAny(r.text, spentAllowances):
		return models.KindUsage
	case kind == models.KindBilling && containsAny(r.text, shortPeriods) && !containsAny(r.text, longPeriods):
		return models.KindRate
	case kind == models.KindModel && containsAny(r.text, absentPaths):
		return models.KindRequest
	}
	if _, final := finalCodes[code]; final {
		return kind
	}
	exact, ok := kindInText(r.text, exacter[kind]...)
	if !ok || exact == models.KindModel && r.object.param != "" && r.object.param != "model" {
		return kind
	}
	return exact
}

// shortWait is the longest delay that still speaks of a limit per minute.
const shortWait = 10 * time.Minute

// allowance divides what comes as status 429 or with a code like it. Such a code
// speaks of money only where its maker uses it for everything that runs out.
func (r report) allowance(anything bool) models.Kind {
	if containsAny(r.text, tooLarge) {
		return models.KindSize
	}
	if k, ok := kindInText(r.text, models.KindCapacity); ok {
		return k
	}
	switch {
	case anything && (limitOfNone().MatchString(r.text) || containsAny(r.text, spentMoney)):
		return models.KindBilling
	case containsAny(r.text, longPeriods), containsAny(r.text, spentAllowances):
		return models.KindUsage
	case !anything, containsAny(r.text, shortPeriods), r.object.delayed(shortWait):
		return models.KindRate
	case containsAny(r.text, upsells):
		return models.KindBilling
	}
	return models.KindRate
}

// limitOfNone is how Google says that a plan does not include a model.
var limitOfNone = lazyPattern(`\blimit: 0(?:[^\d.]|$)`)

// statusRules say what a status means, and which kinds the words may name
// instead. The first row that holds a status counts.
var statusRules = []struct {
	from, to int
	kind     models.Kind
	words    []models.Kind
}{
	{401, 401, models.KindAuth, []models.Kind{models.KindBilling}},
	{402, 402, models.KindBilling, []models.Kind{models.KindUsage, models.KindBilling}},
	{403, 403, models.KindAuth, []models.Kind{models.KindBilling, models.KindUsage}},
	{405, 405, models.KindRequest, nil},
	{407, 407, models.KindGateway, nil},
	{408, 409, models.KindServer, []models.Kind{models.KindCapacity}},
	{410, 410, models.KindRequest, []models.Kind{models.KindModel}},
	{413, 413, models.KindSize, nil},
	{425, 425, models.KindServer, []models.Kind{models.KindCapacity}},
	{499, 499, models.KindGateway, nil},
	{501, 501, models.KindRequest, nil},
	{502, 502, models.KindGateway, relayed},
	{503, 503, models.KindCapacity, []models.Kind{models.KindAuth, models.KindBilling, models.KindNetwork}},
	{504, 504, models.KindGateway, relayed},
	{529, 529, models.KindCapacity, nil},
	{520, 530, models.KindGateway, relayed},
	{500, 599, models.KindServer, relayed},
	{400, 499, models.KindRequest, refused},
	{300, 399, models.KindRequest, nil}, // the address has moved
	{0, 299, models.KindServer, append([]models.Kind{models.KindRequest}, relayed...)},
}

var (
	refused = []models.Kind{
		models.KindAuth, models.KindMalformed, models.KindRequest, models.KindCapacity, models.KindSize,
		models.KindModel, models.KindBilling, models.KindUsage, models.KindRate, models.KindServer,
	}
	relayed = []models.Kind{
		models.KindAuth, models.KindCapacity, models.KindSize, models.KindModel, models.KindBilling, models.KindUsage,
		models.KindRate, models.KindNetwork,
	}
)

func (r report) kindByStatus() models.Kind {
	if containsAny(r.text, relays) && r.status != http.StatusUnauthorized && r.status != http.StatusForbidden {
		return models.KindGateway
	}
	switch {
	case r.page:
		return kindOfPage(r.status)
	case r.status == http.StatusNotFound:
		return r.kindOf404()
	case r.status == http.StatusTooManyRequests:
		return r.allowance(true)
	}
	for _, rule := range statusRules {
		if r.status < rule.from || r.status > rule.to {
			continue
		}
		if k, ok := kindInText(r.text, rule.words...); ok {
			return k
		}
		if rule.kind == models.KindServer && r.status == http.StatusInternalServerError &&
			containsAny(r.text, unservable) {
			return models.KindRequest
		}
		return rule.kind
	}
	return models.KindServer
}

// kindOfPage judges a page by its status alone: its words are a proxy's.
func kindOfPage(status int) models.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return models.KindRate
	case status == http.StatusNotFound:
		return models.KindRequest
	case status < 300, status > 501 && status != 529:
		return models.KindGateway
	}
	for _, rule := range statusRules {
		if status >= rule.from && status <= rule.to {
			return rule.kind
		}
	}
	return models.KindGateway
}

// kindOf404 tells a path that is not there from a model that is not.
func (r report) kindOf404() models.Kind {
	switch {
	case containsAny(r.text, absentThings), r.absentPath():
		return models.KindRequest
	case r.plain:
		if _, ok := kindInText(r.text, models.KindModel); !ok {
			return models.KindRequest
		}
	}
	return models.KindModel
}

// pathInDoubt reports whether a 404 that was taken for an unknown model names none.
func (r report) pathInDoubt() bool {
	_, named := kindInText(r.text, models.KindModel)
	return r.status == http.StatusNotFound && !named && !strings.Contains(r.text, "model") &&
		!slices.ContainsFunc(r.object.codes, func(code string) bool { _, ok := kindOfCode(code); return ok })
}

// absentPath reports whether the words of a 404 are about a path, or about
// nothing at all.
func (r report) absentPath() bool {
	if containsAny(r.text, absentPaths) {
		return true
	}
	lines := strings.Split(r.text, "\n")
	return r.text != "" && !slices.ContainsFunc(lines, func(line string) bool {
		return !slices.Contains(nothingFound, strings.Trim(line, " .!:"))
	})
}

// nothingFound are whole messages that name nothing.
var nothingFound = []string{
	"", "not found", "not_found", "notfound", "404", "404 not found", "error 404", "error", "resource not found",
	"the requested resource could not be found", "the resource was not found",
}

// wrongAddress reports whether a refused request went to the wrong place.
func (r report) wrongAddress() bool {
	switch {
	case containsAny(r.text, absentThings), containsAny(r.text, otherAPI):
		return false
	case r.status == http.StatusNotFound, r.status == http.StatusMethodNotAllowed, r.status == http.StatusGone,
		r.status >= 300 && r.status < 400, r.status == http.StatusNotImplemented && r.page:
		return true
	}
	return containsAny(r.text, wrongPaths)
}
