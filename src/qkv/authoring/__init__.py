"""The authoring pipeline, from one source to every edition: `book/chapters/NN_stem.md` -> student edition, solved
edition, page.

write     for authors: `new` and `new_chapter` write the pieces, `lint` proves an exercise, also by `sample_answers`
build     source -> editions (`qkv build`):
          1. `chapter` reads the source (jupytext) into prose, code cells and exercises;
          2. `definitions` cuts each exercise's code and stub out of `qkv.model` by syntax tree;
          3. `to_markdown` turns MyST into the Markdown that JupyterLab shows;
          4. `editions` puts the two notebooks together; `own_parts` has the student's import what the student built;
          5. `fingerprint` tells whether the solved one has to run again, by the definitions that it reaches (`reach`);
             `run` runs it (nbclient);
          6. `building` writes what changed; `second_seeds` asks its claims again, with other seeds;
          7. `claims` reads what a cell has measured, `bibliography` knows what is cited
publish   editions -> book (`qkv book`): `page` and `sphinx` hand MyST-NB each chapter with the outputs of the solved
          edition; `ledger` makes the page of all claims; `shorten_alts` spares readers what is there for machines,
          `typeset` sets formulas, `covers` puts a drawing beside each chapter's line on the first page, `prune_assets`
          leaves out what no page uses; `publishing` runs that build strictly
"""
