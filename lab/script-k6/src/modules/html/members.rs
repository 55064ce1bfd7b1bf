//! What single elements have beyond what all have: by their names, methods that read an attribute or lead elsewhere.

/// How a method of an element makes its value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Member {
    /// The attribute's text, or empty.
    Text(&'static str),
    /// Whether there is such an attribute.
    Flag(&'static str),
    /// A whole number, with its default.
    Whole(&'static str, f64),
    /// An address, resolved against that of the page.
    Address(&'static str),
    /// One of the words, else the first of them; an empty first word is none.
    Word(&'static str, &'static [&'static str]),
    /// The elements below that a selector finds.
    Below(&'static str),
    /// How many elements below a selector finds.
    CountBelow(&'static str),
    /// The first child that has this name.
    Child(&'static str),
    /// The words of an attribute.
    Words(&'static str),
    /// The text within.
    Content,
    /// The form it belongs to.
    Form,
    /// The labels that name it.
    Labels,
    /// Its value as a field.
    Value,
    /// Its place among the elements that the second finds within the nearest ancestor that the first matches.
    Place(&'static str, &'static str),
    Constant(&'static str),
    /// A part of the address that it leads to.
    Part(&'static str),
}

use Member::{
    Address, Below, Child, Constant, Content, CountBelow, Flag, Form, Labels, Part, Place, Text, Value,
    Whole, Word, Words,
};

type Table = &'static [(&'static str, Member)];

const REFERRERS: &[&str] =
    &["", "no-referrer", "no-referrer-when-downgrade", "origin", "origin-when-cross-origin", "unsafe-url"];
const BUTTONS: &[&str] = &["submit", "button", "menu", "reset"];
const ENCODINGS: &[&str] = &["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
const FIELDS: &str = "input,select,button,textarea,fieldset";
const INPUTS: &[&str] = &[
    "text",
    "button",
    "checkbox",
    "color",
    "date",
    "datetime-local",
    "email",
    "file",
    "hidden",
    "image",
    "month",
    "number",
    "password",
    "radio",
    "range",
    "reset",
    "search",
    "submit",
    "tel",
    "time",
    "url",
    "week",
];

const LINK_PARTS: Table = &[
    ("download", Text("download")),
    ("referrerPolicy", Word("referrerpolicy", REFERRERS)),
    ("rel", Text("rel")),
    ("href", Address("href")),
    ("target", Text("target")),
    ("type", Text("type")),
    ("accessKey", Text("accesskey")),
    ("hrefLang", Text("hreflang")),
    ("toString", Address("href")),
    ("relList", Words("rel")),
    ("text", Content),
    ("hash", Part("hash")),
    ("host", Part("host")),
    ("hostname", Part("hostname")),
    ("port", Part("port")),
    ("username", Part("username")),
    ("password", Part("password")),
    ("origin", Part("origin")),
    ("pathname", Part("pathname")),
    ("protocol", Part("protocol")),
    ("search", Part("search")),
];
const MEDIA: Table = &[
    ("autoplay", Flag("autoplay")),
    ("controls", Flag("controls")),
    ("loop", Flag("loop")),
    ("muted", Flag("muted")),
    ("preload", Word("preload", &["auto", "metadata", "none"])),
    ("src", Address("src")),
    ("crossOrigin", Text("crossorigin")),
    ("currentSrc", Text("src")),
    ("defaultMuted", Flag("muted")),
    ("mediaGroup", Text("mediagroup")),
    ("textTracks", Below("track")),
];
const FIELD: Table = &[
    ("form", Form),
    ("labels", Labels),
    ("name", Text("name")),
    ("formAction", Part("formAction")),
    ("formEnctype", Part("formEnctype")),
    ("formMethod", Part("formMethod")),
    ("formNoValidate", Part("formNoValidate")),
    ("formTarget", Part("formTarget")),
];
const CELL: Table = &[
    ("colSpan", Whole("colspan", 1.0)),
    ("rowSpan", Whole("rowspan", 1.0)),
    ("headers", Text("headers")),
    ("cellIndex", Place("tr", "th,td")),
];
const EDIT: Table = &[("cite", Text("cite")), ("datetime", Text("datetime"))];

/// The methods of elements of this name.
pub(super) fn members(name: &str) -> impl Iterator<Item = &'static (&'static str, Member)> {
    let (own, common): (Table, Table) = match name {
        "a" | "area" => (AREA, LINK_PARTS),
        "audio" => (&[], MEDIA),
        "video" => (VIDEO, MEDIA),
        "button" => (BUTTON, FIELD),
        "input" => (INPUT, FIELD),
        "td" | "th" => (HEADER_CELL, CELL),
        "ins" | "del" => (&[], EDIT),
        "thead" | "tbody" | "tfoot" => (&[("rows", Below("tr"))], &[]),
        _ => (table(name), &[]),
    };
    own.iter().chain(common)
}

const AREA: Table = &[("alt", Text("alt")), ("coords", Text("coords")), ("shape", Text("shape"))];
const VIDEO: Table =
    &[("width", Whole("width", 0.0)), ("height", Whole("height", 0.0)), ("poster", Address("poster"))];
const BUTTON: Table = &[
    ("accessKey", Text("accesskey")),
    ("autofocus", Flag("autofocus")),
    ("disabled", Flag("disabled")),
    ("tabIndex", Whole("tabindex", 0.0)),
    ("type", Word("type", BUTTONS)),
    ("value", Value),
];
const INPUT: Table = &[
    ("tabIndex", Whole("tabindex", 0.0)),
    ("type", Word("type", INPUTS)),
    ("disabled", Flag("disabled")),
    ("autofocus", Flag("autofocus")),
    ("required", Flag("required")),
    ("value", Text("value")),
    ("checked", Flag("checked")),
    ("defaultChecked", Flag("checked")),
    ("alt", Text("alt")),
    ("src", Address("src")),
    ("height", Text("height")),
    ("width", Text("width")),
    ("accept", Text("accept")),
    ("autocomplete", Word("autocomplete", &["on", "off"])),
    ("maxLength", Whole("maxlength", -1.0)),
    ("size", Whole("size", 0.0)),
    ("pattern", Text("pattern")),
    ("placeholder", Text("placeholder")),
    ("readonly", Flag("readonly")),
    ("min", Text("min")),
    ("max", Text("max")),
    ("defaultValue", Text("value")),
    ("dirName", Text("dirname")),
    ("accessKey", Text("accesskey")),
    ("multiple", Flag("multiple")),
    ("step", Text("step")),
];
const HEADER_CELL: Table = &[
    ("abbr", Text("abbr")),
    ("scope", Word("scope", &["", "row", "col", "colgroup", "rowgroup"])),
    ("sorted", Flag("sorted")),
];

fn table(name: &str) -> Table {
    match name {
        "base" => &[("href", Address("href")), ("target", Text("target"))],
        "canvas" => &[("width", Whole("width", 150.0)), ("height", Whole("height", 150.0))],
        "data" => &[("value", Text("value"))],
        "datalist" => &[("options", Below("option"))],
        "embed" => EMBED,
        "fieldset" => FIELD_SET,
        "form" => FORM,
        "iframe" => FRAME,
        "img" => IMAGE,
        "keygen" => {
            &[("form", Form), ("labels", Labels), ("name", Text("name")), ("disabled", Flag("disabled"))]
        }
        "label" => &[("htmlFor", Text("for")), ("control", Part("control")), ("form", Form)],
        "legend" => &[("accessKey", Text("accesskey")), ("form", Form)],
        "li" => {
            &[("value", Whole("value", 0.0)), ("type", Word("type", &["", "1", "a", "A", "i", "I", "disc"]))]
        }
        "link" => LINK,
        "map" => &[("name", Text("name")), ("areas", Below("area"))],
        "meta" => &[("content", Text("content")), ("name", Text("name")), ("httpEquiv", Text("http-equiv"))],
        "meter" => METER,
        "object" => OBJECT,
        "ol" => &[
            ("reversed", Flag("reversed")),
            ("start", Whole("start", 0.0)),
            ("type", Word("type", &["1", "a", "A", "i", "I"])),
        ],
        "optgroup" => &[("disabled", Flag("disabled")), ("label", Text("label"))],
        "option" => OPTION,
        "output" => &[
            ("htmlFor", Text("for")),
            ("name", Text("name")),
            ("type", Constant("output")),
            ("form", Form),
            ("labels", Labels),
            ("value", Content),
            ("defaultValue", Content),
        ],
        "param" | "pre" => &[("name", Text("name")), ("value", Text("value"))],
        "progress" => &[
            ("labels", Labels),
            ("max", Part("progressMax")),
            ("value", Part("progressValue")),
            ("position", Part("progressPosition")),
        ],
        "blockquote" | "quote" => &[("cite", Text("cite"))],
        "script" => SCRIPT,
        "select" => SELECT,
        "source" => SOURCE,
        "style" => &[("media", Text("media")), ("type", Word("type", &["text/css"]))],
        "table" => TABLE,
        "col" => &[("span", Whole("span", 1.0))],
        "tr" => ROW,
        "textarea" => TEXT_AREA,
        "time" => &[("datetime", Text("datetime"))],
        "title" => &[("text", Content)],
        "track" => TRACK,
        "ul" => &[("type", Text("type"))],
        _ => &[],
    }
}

const EMBED: Table =
    &[("height", Text("height")), ("width", Text("width")), ("src", Text("src")), ("type", Text("type"))];
const FIELD_SET: Table = &[
    ("disabled", Flag("disabled")),
    ("name", Text("name")),
    ("form", Form),
    ("type", Constant("fieldset")),
    ("elements", Below("input,select,button,textarea")),
];
const FORM: Table = &[
    ("action", Address("action")),
    ("name", Text("name")),
    ("target", Text("target")),
    ("enctype", Word("enctype", ENCODINGS)),
    ("encoding", Word("enctype", ENCODINGS)),
    ("acceptCharset", Text("accept-charset")),
    ("autocomplete", Word("autocomplete", &["on", "off"])),
    ("noValidate", Flag("novalidate")),
    ("elements", Below(FIELDS)),
    ("length", CountBelow(FIELDS)),
    ("method", Word("method", &["get", "post"])),
];
const FRAME: Table = &[
    ("allowfullscreen", Flag("allowfullscreen")),
    ("referrerPolicy", Word("referrerpolicy", REFERRERS)),
    ("height", Text("height")),
    ("width", Text("width")),
    ("name", Text("name")),
    ("src", Address("src")),
];
const IMAGE: Table = &[
    ("currentSrc", Address("src")),
    ("sizes", Text("sizes")),
    ("srcset", Text("srcset")),
    ("alt", Text("alt")),
    ("crossOrigin", Text("crossorigin")),
    ("height", Whole("height", 0.0)),
    ("width", Whole("width", 0.0)),
    ("isMap", Flag("ismap")),
    ("name", Text("name")),
    ("src", Address("src")),
    ("useMap", Text("usemap")),
    ("referrerPolicy", Word("referrerpolicy", REFERRERS)),
];
const LINK: Table = &[
    ("crossOrigin", Text("crossorigin")),
    ("referrerPolicy", Word("referrerpolicy", REFERRERS)),
    ("href", Address("href")),
    ("hreflang", Text("hreflang")),
    ("media", Text("media")),
    ("rel", Text("rel")),
    ("target", Text("target")),
    ("type", Text("type")),
    ("relList", Words("rel")),
];
const METER: Table = &[
    ("min", Whole("min", 0.0)),
    ("max", Whole("max", 0.0)),
    ("high", Whole("high", 0.0)),
    ("low", Whole("low", 0.0)),
    ("optimum", Whole("optimum", 0.0)),
    ("labels", Labels),
];
const OBJECT: Table = &[
    ("data", Address("data")),
    ("height", Text("height")),
    ("name", Text("name")),
    ("type", Text("type")),
    ("tabIndex", Whole("tabindex", 0.0)),
    ("typeMustMatch", Flag("typemustmatch")),
    ("useMap", Text("usemap")),
    ("width", Text("width")),
    ("form", Form),
];
const OPTION: Table = &[
    ("defaultSelected", Flag("selected")),
    ("selected", Flag("selected")),
    ("disabled", Flag("disabled")),
    ("form", Form),
    ("index", Place("select,datalist", "option")),
    ("label", Part("optionLabel")),
    ("text", Content),
    ("value", Value),
];
const SCRIPT: Table = &[
    ("crossOrigin", Text("crossorigin")),
    ("type", Text("type")),
    ("src", Address("src")),
    ("charset", Text("charset")),
    ("async", Flag("async")),
    ("defer", Flag("defer")),
    ("noModule", Flag("nomodule")),
    ("text", Content),
];
const SELECT: Table = &[
    ("autofocus", Flag("autofocus")),
    ("disabled", Flag("disabled")),
    ("multiple", Flag("multiple")),
    ("name", Text("name")),
    ("required", Flag("required")),
    ("tabIndex", Whole("tabindex", 0.0)),
    ("form", Form),
    ("labels", Labels),
    ("length", CountBelow("option")),
    ("options", Below("option")),
    ("selectedIndex", Part("selectedIndex")),
    ("selectedOptions", Below("option[selected]")),
    ("size", Part("selectSize")),
    ("type", Part("selectType")),
    ("value", Value),
];
const SOURCE: Table = &[
    ("keySystem", Text("keysystem")),
    ("media", Text("media")),
    ("sizes", Text("sizes")),
    ("src", Address("src")),
    ("srcset", Text("srcset")),
    ("type", Text("type")),
];
const TABLE: Table = &[
    ("sortable", Flag("sortable")),
    ("caption", Child("caption")),
    ("tHead", Child("thead")),
    ("tFoot", Child("tfoot")),
    ("rows", Below("tr")),
    ("tBodies", Below("tbody")),
];
const ROW: Table = &[
    ("cells", Below("th,td")),
    ("rowIndex", Place("table", "tr")),
    ("sectionRowIndex", Place("thead,tbody,tfoot", "tr")),
];
const TEXT_AREA: Table = &[
    ("form", Form),
    ("labels", Labels),
    ("type", Constant("textarea")),
    ("value", Text("value")),
    ("defaultValue", Text("value")),
    ("name", Text("name")),
    ("length", Part("textLength")),
    ("placeholder", Text("placeholder")),
    ("rows", Whole("rows", 0.0)),
    ("cols", Whole("cols", 0.0)),
    ("maxLength", Whole("maxlength", 0.0)),
    ("tabIndex", Whole("tabindex", 0.0)),
    ("accessKey", Text("accesskey")),
    ("readOnly", Flag("readonly")),
    ("required", Flag("required")),
    ("autocomplete", Word("autocomplete", &["on", "off"])),
    ("autocapitalize", Word("autocapitalize", &["sentences", "none", "off", "characters", "words"])),
    ("wrap", Word("wrap", &["soft", "hard", "off"])),
];
const TRACK: Table = &[
    ("kind", Word("kind", &["subtitle", "captions", "descriptions", "chapters", "metadata"])),
    ("src", Text("src")),
    ("srclang", Text("srclang")),
    ("label", Text("label")),
    ("default", Flag("default")),
];
