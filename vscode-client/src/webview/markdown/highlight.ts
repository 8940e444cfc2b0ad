/** Colours for code, as a tree of spans; the common languages only. */
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import powershell from 'highlight.js/lib/languages/powershell';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { h, type Tree } from './tree';

const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin },
  ...{ lua, makefile, markdown, php, powershell, python, ruby, rust, shell, sql, swift },
  ...{ typescript, xml, yaml },
});
lowlight.registerAlias({ javascript: ['jsx'], typescript: ['tsx'], ini: ['toml'] });

/** Longer code is shown without colours: they would take too long. */
const MAX_LENGTH = 30_000;

type Hast = ReturnType<typeof lowlight.highlight>['children'][number];

/** ``leaf`` makes the trees of a text within elements of these classes. */
type Leaf = (text: string, classes: readonly string[]) => Tree[];

export function highlight(code: string, language: string, leaf: Leaf): Tree[] {
  const name = language.toLowerCase();
  if (code === '') return [];
  if (code.length > MAX_LENGTH || !lowlight.registered(name)) return leaf(code, []);
  return lowlight.highlight(name, code).children.flatMap((node) => convert(node, leaf, []));
}

function convert(node: Hast, leaf: Leaf, classes: readonly string[]): Tree[] {
  if (node.type === 'text') return leaf(node.value, classes);
  if (node.type !== 'element') return [];
  const names = node.properties.className;
  const own = Array.isArray(names) ? names.join(' ') : '';
  const kids = node.children.flatMap((kid) => convert(kid, leaf, [...classes, own]));
  return [h('span', own === '' ? {} : { class: own }, kids)];
}
