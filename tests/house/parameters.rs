//! Parameters and variables have names: no tuple is a parameter, no `let` takes two expressions apart, no `match` asks
//! for a `bool`, and closures that have a name become fewer.
//!
//! What macros are called with is not examined.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Expr, ExprMatch, FnArg, GenericArgument, ImplItem, ItemImpl, Lit, Local, Pat, Path,
    PathArguments, Signature, Type,
};

use super::sources;

/// Folders that may have these forms.
const UNCLEAN: [&str; 1] = ["tests"];

/// All folders, and the most closures that are bound by `let` in each. A function without a capture is easier to find, to test and to
/// describe. Lower a number once there are fewer.
const MOST_CLOSURES: [(&str, usize); 30] = [
    ("adapters", 4),
    ("annotations", 3),
    ("base", 2),
    ("cache", 7),
    ("command", 11),
    ("dataset", 5),
    ("demo", 0),
    ("device", 10),
    ("export", 7),
    ("fixtures", 8),
    ("foreign", 0),
    ("formats", 25),
    ("fuzz/targets", 6),
    ("image", 0),
    ("inspect", 2),
    ("jpeg", 51),
    ("order", 19),
    ("packer", 20),
    ("python/src", 0),
    ("reader", 46),
    ("scan", 10),
    ("shards", 3),
    ("sources", 2),
    ("store", 22),
    ("table", 5),
    ("tests", 156),
    ("tokens", 5),
    ("transforms", 23),
    ("types", 2),
    ("verify", 4),
];

/// The forms of one file.
#[derive(Default)]
struct Forms {
    /// The lines that the rule refuses, each with what to write instead.
    refused: Vec<(usize, &'static str)>,
    /// Closures that are bound by `let`.
    closures: usize,
}

impl Forms {
    /// Returns the forms of a file; `None` if it is not Rust.
    fn of(text: &str) -> Option<Forms> {
        let mut forms = Forms::default();
        forms.visit_file(&syn::parse_file(text).ok()?);
        Some(forms)
    }

    fn refuse(&mut self, place: &impl Spanned, instead: &'static str) {
        self.refused.push((place.span().start().line, instead));
    }

    fn expect_no_tuple(&mut self, kind: &Type) {
        if is_tuple(kind) {
            self.refuse(kind, "a parameter is a tuple: give its parts names");
        }
    }
}

impl<'ast> Visit<'ast> for Forms {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        for input in &signature.inputs {
            let FnArg::Typed(input) = input else { continue };
            if matches!(*input.pat, Pat::Tuple(_)) {
                self.refuse(input, "a parameter is a tuple: give its parts names");
            } else {
                self.expect_no_tuple(&input.ty);
            }
        }
        visit::visit_signature(self, signature);
    }

    /// A trait whose argument is a tuple, such as `From<(u32, u32)>`, decides the parameters of its functions.
    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.trait_.as_ref().is_some_and(|(path, _)| has_tuple_argument(path)) {
            for function in &item.items {
                if let ImplItem::Fn(function) = function {
                    self.visit_block(&function.block);
                }
            }
        } else {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_parenthesized_generic_arguments(
        &mut self,
        arguments: &'ast syn::ParenthesizedGenericArguments,
    ) {
        arguments.inputs.iter().for_each(|input| self.expect_no_tuple(&input.ty));
        visit::visit_parenthesized_generic_arguments(self, arguments);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        match (pattern, local.init.as_ref().map(|init| &*init.expr)) {
            (Pat::Tuple(_), Some(Expr::Tuple(_))) => {
                self.refuse(local, "a `let` of two things: write two");
            }
            (Pat::Ident(_), Some(Expr::Closure(_))) => self.closures += 1,
            _ => {}
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_match(&mut self, asked: &'ast ExprMatch) {
        if asks_for_bools(asked) {
            self.refuse(asked, "a `match` on a `bool`: write `if`");
        }
        visit::visit_expr_match(self, asked);
    }
}

/// Returns true for a tuple of two or more types, and for a reference to one.
fn is_tuple(kind: &Type) -> bool {
    match kind {
        Type::Tuple(tuple) => tuple.elems.len() > 1,
        Type::Reference(reference) => is_tuple(&reference.elem),
        _ => false,
    }
}

/// Returns true for `Name<(A, B)>`.
fn has_tuple_argument(path: &Path) -> bool {
    let last = path.segments.last().map(|segment| &segment.arguments);
    let Some(PathArguments::AngleBracketed(list)) = last else { return false };
    list.args
        .iter()
        .any(|argument| matches!(argument, GenericArgument::Type(kind) if is_tuple(kind)))
}

/// Returns true for a `match` that asks for a `bool`, for several, or for nothing but guards.
fn asks_for_bools(asked: &ExprMatch) -> bool {
    let is_constant = match &*asked.expr {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Bool(_)),
        Expr::Tuple(tuple) => tuple.elems.is_empty(),
        _ => false,
    };
    let Some(first) = asked.arms.first() else { return is_constant };
    let are_guards = asked.arms.iter().all(|arm| is_wild(&arm.pat));
    is_constant || are_guards || count_bools(&first.pat).is_some_and(|bools| bools > 0)
}

/// Returns true for `_`, with or without a guard.
fn is_wild(pattern: &Pat) -> bool {
    match pattern {
        Pat::Guard(guarded) => is_wild(&guarded.pat),
        pattern => matches!(pattern, Pat::Wild(_)),
    }
}

/// Returns the number of literals `true` and `false` in a pattern; `None` if it has anything else but `_`.
fn count_bools(pattern: &Pat) -> Option<usize> {
    match pattern {
        Pat::Wild(_) => Some(0),
        Pat::Lit(literal) => matches!(literal.lit, Lit::Bool(_)).then_some(1),
        Pat::Tuple(tuple) => tuple.elems.iter().map(count_bools).sum(),
        Pat::Paren(inner) => count_bools(&inner.pat),
        Pat::Guard(guarded) => count_bools(&guarded.pat),
        Pat::Or(cases) => cases.cases.iter().map(count_bools).sum(),
        _ => None,
    }
}

/// Returns the forms of each file of a folder.
fn forms(folder: &str) -> Vec<(String, Forms)> {
    let files = sources(folder).into_iter();
    files
        .map(|(file, text)| {
            let forms = Forms::of(&text).unwrap_or_else(|| panic!("{file} is not Rust"));
            (file, forms)
        })
        .collect()
}

/// One test for both rules: to read all files takes most of its time.
#[test]
fn parameters_and_variables_have_names_and_closures_with_a_name_become_fewer() {
    let mut refused = Vec::new();
    let mut counts = Vec::new();
    for (folder, most) in MOST_CLOSURES {
        let mut closures = 0;
        for (file, forms) in forms(folder) {
            closures += forms.closures;
            if !UNCLEAN.contains(&folder) {
                let lines = forms.refused.into_iter();
                refused.extend(lines.map(|(line, instead)| format!("{file}:{line}: {instead}")));
            }
        }
        if closures != most {
            counts.push(format!("{folder}: {closures}, and the list has {most}"));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(
        counts.is_empty(),
        "write functions, not closures in `let`, and lower the numbers:\n{}",
        counts.join("\n")
    );
}

#[test]
fn what_has_no_names_is_found() {
    for text in [
        "fn f((a, b): (u8, u8)) {}",
        "fn f<T: Fn() -> u8>(a: u8, size: &'static mut (u8, T)) {}",
        "fn f((a, b): Alias) {}",
        "fn f(of: impl Fn(&(u8, u8)) -> u8) {}",
        "impl F<u8> for A { fn f((a, b): (u8, u8)) {} }",
        "impl From<(u8, u8)> for A { fn from(a: (u8, u8)) -> A { match b { true => A, false => B } } }",
        "fn f() { let (a, b): (u8, u8) = (x < 1, y > 2); }",
        "fn f() { let (Ok(a), Ok(b)) = (f(), g()) else { return }; }",
        "fn f() { match a { true => 1, false => 2 }; }",
        "fn f() { match (a, f(b)) { (true, _) => 1, _ => 2 }; }",
        "fn f() { match true { _ if a => 1, _ => 2 }; }",
        "fn f() { match a { _ if b => 1, _ => 2 }; }",
    ] {
        assert_eq!(Forms::of(text).unwrap().refused.len(), 1, "{text}");
    }
    for text in [
        "fn f(a: Vec<(u8, u8)>, b: &[(u8, u8)]) -> (u8, u8) {}",
        "fn f<T>(a: Option<T>, [b, c]: [u8; 2], d: (), e: fn(u8) -> (u8, u8)) {}",
        "fn f() { let (a, b) = f((1, 2)); let (a, b) = (c, d).min(e); }",
        "// fn f((a, b): (u8, u8))\nconst A: &str = \"let (a, b) = (c, d);\";",
        "impl From<(u8, u8)> for A { fn from((a, b): (u8, u8)) -> A { A } }",
        "fn f() { match a { Some(true) => 1, _ => 2 }; }",
        "fn f() { match a { _ if b => 1, C => 2, D => 3 }; }",
    ] {
        assert_eq!(Forms::of(text).unwrap().refused, [], "{text}");
    }
    for (text, closures) in [
        ("fn f() { let a = |b| c; let mut a: D = move || c; }", 2),
        ("fn f() { let a = b | c; let d = e(|f| g); }", 0),
    ] {
        assert_eq!(Forms::of(text).unwrap().closures, closures, "{text}");
    }
}
