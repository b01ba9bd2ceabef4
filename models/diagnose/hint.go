package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"belay/models"
)

// hint says in a sentence or two what a person can do.
func hint(fault *models.Fault, ev Evidence, object errorObject) string {
	host := cmp.Or(ev.Host, "the endpoint")
	key := "the key of " + cmp.Or(ev.Target.Provider, host)
	if ev.KeyEnv != "" {
		key = "the key in " + ev.KeyEnv
	}
	switch fault.Kind {
	case models.KindCapacity:
		if strings.Contains(strings.ToLower(object.message), "loading model") {
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
		return authHint(ev, key, host)
	case models.KindModel:
		return fmt.Sprintf(
			"%s does not know %q for this account. "+
				"Names are compared letter by letter, with case and spaces; `belay models` lists them.",
			host,
			ev.Target.Model,
		)
	case models.KindRequest:
		if fault.Status == 0 && ev.Err != nil {
			return "The request could not be made. Check base_url in the settings."
		}
		if fault.Status == 404 {
			return "Nothing answers at that path. Check base_url: it usually ends in /v1."
		}
		return "The request was refused as it stands; sending it again does not help."
	case models.KindSize:
		return "The request is too long for the model. Compact the context or take a model with a larger window."
	case models.KindServer:
		return "Something broke at the provider. Trying again usually helps; the request id helps their support."
	case models.KindGateway:
		return gatewayHint(fault, ev, host)
	case models.KindNetwork:
		return networkHint(ev, host)
	case models.KindAbsent:
		return "Nothing is running at " + host + ". Start the local server, or take another model."
	case models.KindStream:
		return streamHint(ev)
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

func authHint(ev Evidence, key, host string) string {
	switch {
	case ev.Key == "" && ev.KeyEnv != "":
		return "There is no key. Set " + ev.KeyEnv + "."
	case isHTML(ev.Body):
		return "A page came instead of an answer: a firewall or a region block, rather than the key, may be the cause."
	case ev.Status == 403:
		return "Check whether " + key + " may use this model, project and region at " + host + "."
	}
	return "Check " + key + ": it is wrong, expired, or of another provider."
}

func gatewayHint(f *models.Fault, ev Evidence, host string) string {
	switch {
	case f.Scope == models.ScopeLocal:
		return "A relay on this computer answered, not the model. Check its log and its settings."
	case ev.Status >= 200 && ev.Status < 300:
		return "A web page answered instead of the model: a sign-in page of this network, or a wrong base_url."
	case ev.Status >= 300 && ev.Status < 400:
		return host + " sends requests elsewhere. Check base_url."
	case ev.Status == 407:
		return "The proxy asks for a name and password. Check HTTPS_PROXY."
	}
	return "Something between here and the model answered in its place. It is usually gone in seconds."
}

func networkHint(ev Evidence, host string) string {
	var dns *net.DNSError
	switch {
	case errors.As(ev.Err, &dns):
		return "The name " + host + " cannot be found. Check the network and base_url."
	case errors.Is(ev.Err, syscall.ECONNREFUSED):
		return host + " refuses connections. Check base_url."
	case ev.Err != nil && strings.Contains(ev.Err.Error(), "certificate"):
		return "The certificate of " + host + " is not trusted here. A proxy that opens TLS may be the cause."
	}
	return "There is no connection to " + host + ". This is the network, not the model."
}

func streamHint(ev Evidence) string {
	switch {
	case errors.Is(ev.Err, ErrSilent):
		return "Nothing came for too long. What was finished is kept."
	case errors.Is(ev.Err, ErrMalformed):
		return "The endpoint sent something that is not part of a reply. What was finished is kept."
	}
	return "The reply broke off. What was finished is kept."
}
