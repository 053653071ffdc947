//! The expression language: lexer, parser, evaluator, and templates of `${{ }}`.
