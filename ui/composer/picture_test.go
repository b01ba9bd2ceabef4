package composer

import (
	"slices"
	"testing"
)

func TestDroppedPicturesBecomeMentions(t *testing.T) {
	for _, tt := range []struct{ pasted, want string }{
		{"/home/me/shot.png", "@/home/me/shot.png "},
		{"'/home/me/Screen Shot 1.png'\n", `@"/home/me/Screen Shot 1.png" `},
		{`"/home/me/a b.JPG"`, `@"/home/me/a b.JPG" `},
		{`/home/me/Screen\ Shot\ \(2\).webp`, `@"/home/me/Screen Shot (2).webp" `},
		{"file:///home/me/a%20b.png", `@"/home/me/a b.png" `},
		{"file://localhost/tmp/a.gif", "@/tmp/a.gif "},
		{"~/shot.jpeg", "@~/shot.jpeg "},
		{"/a/one.png '/a/two 2.png'", `@/a/one.png @"/a/two 2.png" `},
		{`"C:\Users\me\my shot.png"`, `@"C:\Users\me\my shot.png" `},
		{`C:\Users\me\shot.png`, `@C:\Users\me\shot.png `},
		{"/home/me/notes.txt", ""},
		{"look at /home/me/shot.png", ""},
		{"shot.png", ""},
		{"", ""},
	} {
		got, ok := Dropped(tt.pasted)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Dropped(%q) = %q, %v; want %q", tt.pasted, got, ok, tt.want)
			continue
		}
		if ok && len(Pictures("see "+got+"and more")) == 0 {
			t.Errorf("%q mentions no picture", got)
		}
	}
	got := Pictures(`see @"a b.png" and @c.png, not @"d e.go"`)
	if want := []string{"a b.png"}; !slices.Equal(got[:1], want) {
		t.Errorf("Pictures = %q", got)
	}
}
