package diagnose

import (
	"bytes"
	"html"
	"strings"
)

// isPage reports whether a reply is a page for people.
func isPage(b []byte) bool {
	b = bytes.ToLower(bytes.TrimLeft(b[:min(len(b), 512)], "\ufeff \t\r\n"))
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body", "<title", "<center", "<pre", "<h1"} {
		if bytes.HasPrefix(b, []byte(begin)) {
			return true
		}
	}
	return false
}

// isMarkup reports whether a reply is XML, as some stores and gateways send it.
func isMarkup(b []byte) bool {
	b = bytes.TrimLeft(b[:min(len(b), 512)], "\ufeff \t\r\n")
	return len(b) > 2 && b[0] == '<' && !isPage(b)
}

// maxPageText is how much of a page is shown, in bytes, beside its title.
const maxPageText = 240

var (
	pageTitle   = lazyPattern(`(?is)<title[^>]*>(.*?)</title`)
	pageUnseen  = lazyPattern(`(?is)<(?:script|style|title|head)\b.*?</(?:script|style|title|head)\s*>|<!--.*?-->`)
	pageElement = lazyPattern(`(?s)<[^>]*>?`)
)

// pageText is what a person would read first on a page: its title, and what it
// says beside it where that is little.
func pageText(page []byte) string {
	text := string(page[:min(len(page), maxRead)])
	title := ""
	if m := pageTitle().FindStringSubmatch(text); m != nil {
		title = plainText(m[1])
	}
	body := plainText(pageUnseen().ReplaceAllString(text, " "))
	body = strings.TrimLeft(strings.TrimPrefix(body, title), " :-–|")
	switch {
	case title == "":
		return truncate(body, maxPageText)
	case body == "" || len(body) > maxPageText:
		return title
	}
	return title + ": " + body
}

// plainText takes the elements out of a text.
func plainText(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(pageElement().ReplaceAllString(text, " "))), " ")
}
