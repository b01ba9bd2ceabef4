package diagnose

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"belay/models"
)

// hint says in a sentence or two what a person can do.
func hint(fault *models.Fault, ev Evidence, said report) string {
	host := cmp.Or(ev.Host, "the endpoint")
	key := "the key of " + cmp.Or(ev.Target.Provider, host)
	if ev.KeyEnv != "" {
		key = "the key in " + ev.KeyEnv
	}
	switch fault.Kind {
	case models.KindCapacity:
		if strings.Contains(said.text, "loading") {
			return "The model is still being loaded; it answers when that is done."
		}
		return "The model has no room at the moment. " +
			"Your key and your network are not the cause; waiting or another model helps."
	case models.KindRate:
		return "You have reached your own limit for a short time" + clearsIn(fault) + ". Fewer requests at once help."
	case models.KindUsage:
		return "Your allowance is used up" + clearsIn(fault) + ". Another provider or a local model can go on."
	case models.KindBilling:
		return "The account has no credit or the plan does not include this. See plan and billing at " + host + "."
	case models.KindAuth:
		return authHint(ev, said, key, host)
	case models.KindModel:
		return modelHint(ev, said, host)
	case models.KindRequest:
		return requestHint(fault, ev, said)
	case models.KindSize:
		return sizeHint(fault, said)
	case models.KindServer:
		return "Something broke at the provider. Trying again usually helps; the request id helps their support."
	case models.KindGateway:
		return gatewayHint(fault, ev)
	case models.KindNetwork:
		return networkHint(ev, host)
	case models.KindAbsent:
		return "Nothing is running at " + host + ". Start the local server, or take another model."
	case models.KindStream:
		return streamHint(ev)
	case models.KindMalformed:
		return "The model wrote a call that its server cannot read. Asked again it usually writes a good one."
	case models.KindIncomplete:
		if ev.Incomplete == "content_filter" {
			return "The provider's filter stopped the reply."
		}
		return "The reply reached its length limit; what was said is kept and can be continued."
	}
	return ""
}

func clearsIn(fault *models.Fault) string {
	switch {
	case !fault.Delayed:
		return ""
	case fault.RetryAfter == 0:
		return "; it should be clear again now"
	}
	return "; it clears in " + fault.RetryAfter.Round(1e9).String()
}

func modelHint(ev Evidence, said report, host string) string {
	if ability := missingAbility(said.text); ability != "" {
		return abilityHint(ev, ability)
	}
	return fmt.Sprintf("%s does not know %q for this account. "+
		"Names are compared letter by letter, with case and spaces; `belay models` lists them.",
		host, ev.Target.Model)
}

func abilityHint(ev Evidence, ability string) string {
	return fmt.Sprintf("%s does not support %s at this endpoint. Take another model, or another endpoint for it.",
		cmp.Or(ev.Target.Model, "The model"), ability)
}

func requestHint(fault *models.Fault, ev Evidence, said report) string {
	ability := missingAbility(said.text)
	switch {
	case fault.Status == 0 && ev.Err != nil:
		return "The request could not be made. Check base_url in the settings."
	case said.wrongAddress():
		return addressHint(ev, said)
	case ability != "":
		return abilityHint(ev, ability)
	case containsAny(said.text, otherAPI):
		return `This model is asked over another API. Set api = "responses" for this provider.`
	case said.status >= 500, containsAny(said.text, startOptions):
		return "The server refuses this as it was started. Its words say which option it needs."
	}
	return "The request was refused as it stands; sending it again does not help."
}

// addressHint names what of a base_url, and of api, may be meant instead.
func addressHint(ev Evidence, said report) string {
	host := cmp.Or(ev.Host, "the endpoint")
	if location := ev.Header.Get("Location"); said.status >= 300 && said.status < 400 {
		if location == "" {
			return host + " sends requests elsewhere. Check base_url."
		}
		return fmt.Sprintf("%s sends requests elsewhere. If that is right, write base_url = %q.",
			host, truncate(withoutKey(movedBase(location), ev.Key), 200))
	}
	if strings.Contains(said.text, "https port") || strings.Contains(said.text, "https server") {
		return "The server wants https: write https:// in base_url."
	}
	hint := "Nothing answers at that path."
	if ev.API == models.Responses {
		hint += ` An endpoint without a Responses API needs api = "chat".`
	}
	if end := version().FindString(strings.TrimRight(ev.Path, "/")); end != "" {
		return hint + fmt.Sprintf(" Else check base_url; it may be meant without %s.", end)
	}
	return hint + " Check base_url: it usually ends in /v1."
}

// movedBase is the base of the address that a request was sent on to.
func movedBase(location string) string {
	location, _, _ = strings.Cut(location, "?")
	for _, path := range []string{"/responses", "/chat/completions", "/models"} {
		location = strings.TrimSuffix(strings.TrimSuffix(location, "/"), path)
	}
	return location
}

// version is the end of most base URLs.
var version = lazyPattern(`/v\d[\w.]*$`)

func sizeHint(fault *models.Fault, said report) string {
	if said.page {
		return "A proxy before the model refuses requests of this size. Compact the context, or raise the proxy's limit."
	}
	fits := ""
	switch limit, request := fault.WindowLimit, fault.RequestTokens; {
	case limit > 0 && request > 0:
		fits = fmt.Sprintf(": %d tokens, and %d fit", request, limit)
	case limit > 0:
		fits = fmt.Sprintf(": %d tokens fit", limit)
	}
	return "The request is too long for the model" + fits +
		". Compact the context or take a model with a larger window."
}

func authHint(ev Evidence, said report, key, host string) string {
	switch {
	case containsAny(said.text, unverified):
		return "The key is good, but the account is not verified for this. See its settings at " + host + "."
	case containsAny(said.text, unserved):
		return host + " does not serve this country or region."
	case ev.Key == "" && ev.KeyEnv != "":
		return "There is no key. Set " + ev.KeyEnv + "."
	case said.page:
		return "A page came instead of an answer: a firewall or a region block, rather than the key, may be the cause."
	case ev.Status == 403:
		return "Check whether " + key + " may use this model, project and region at " + host + "."
	}
	return "Check " + key + ": it is wrong, expired, or of another provider."
}

func gatewayHint(f *models.Fault, ev Evidence) string {
	switch {
	case f.Scope == models.ScopeLocal:
		return "A relay on this computer answered, not the model. Check its log and its settings."
	case ev.Status >= 200 && ev.Status < 300:
		return "A web page answered instead of the model: a sign-in page of this network, or a wrong base_url."
	case ev.Status == 407:
		return "The proxy asks for a name and password. Check HTTPS_PROXY or ALL_PROXY."
	}
	return "Something between here and the model answered in its place. It is usually gone in seconds."
}

func networkHint(ev Evidence, host string) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	text := ""
	if ev.Err != nil {
		text = ev.Err.Error()
	}
	switch {
	case ev.Status != 0:
		return "Something between here and the model lost its connection. It is usually back in seconds."
	case strings.Contains(text, "proxyconnect"), strings.Contains(text, "socks connect"):
		return "The proxy does not answer or refuses. Check HTTPS_PROXY and ALL_PROXY."
	case errors.As(ev.Err, &record), strings.Contains(text, "HTTP response to HTTPS client"):
		return host + " answers without encryption. If that is meant, write http:// in base_url."
	case strings.Contains(text, "malformed HTTP"):
		return "What answers at " + host + " does not speak HTTP/1.1. Check the port in base_url."
	case errors.As(ev.Err, &dns):
		return "The name " + host + " cannot be found. Check the network and base_url."
	case errors.Is(ev.Err, syscall.ECONNREFUSED):
		return host + " refuses connections. Check base_url."
	case strings.Contains(text, "certificate"):
		return "The certificate of " + host + " is not trusted here. A proxy that opens TLS may be the cause; " +
			"SSL_CERT_FILE names a file with its certificate."
	}
	return "There is no connection to " + host + ". This is the network, not the model."
}

func streamHint(ev Evidence) string {
	switch {
	case errors.Is(ev.Err, ErrSilent):
		return "Nothing came for too long. What was finished is kept."
	case errors.Is(ev.Err, ErrEmpty):
		return "The model ended its reply without a word. Trying again or another tier helps."
	case errors.Is(ev.Err, ErrTooLarge):
		return "The reply went on and on, and was ended. What was finished is kept; another tier may do better."
	case errors.Is(ev.Err, ErrMalformed):
		return "The endpoint sent something that is not part of a reply. What was finished is kept."
	}
	return "The reply broke off. What was finished is kept."
}
