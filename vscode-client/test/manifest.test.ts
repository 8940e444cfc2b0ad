import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundle } from '../l10n.mjs';
import { page } from '../readme.mjs';
import { SERVER_SETTINGS } from '../src/extension/serverSettings';

const root = path.join(import.meta.dirname, '..');
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
const manifest = JSON.parse(read('package.json'));
const names = JSON.parse(read('package.nls.json'));
const { contributes } = manifest;
const properties: Record<string, Record<string, unknown>> = Object.assign(
  {},
  ...contributes.configuration.map((group: { properties: object }) => group.properties),
);
const declared: string[] = contributes.commands.map((one: { command: string }) => one.command);
const serverCommands = [...read('src/protocol.ts').matchAll(/^ {2}'(tierline\/[^']+)':/gm)].map(
  (match) => (match[1] ?? '').replaceAll('/', '.'),
);

describe('command ids', () => {
  it('have two components, and those of the server three, so that they never coincide', () => {
    expect(serverCommands.length).toBeGreaterThan(15);
    for (const id of declared) expect(id).toMatch(/^tierline\.[a-zA-Z]+$/);
    for (const id of serverCommands) expect(id).toMatch(/^tierline\.[a-zA-Z]+\.[a-zA-Z]+$/);
    expect(declared.filter((id) => serverCommands.includes(id))).toEqual([]);
  });

  it('that are declared are registered, and the other way round', () => {
    const registered = [...read('src/extension/main.ts').matchAll(/^ {4}'(tierline\.\w+)':/gm)].map(
      (match) => match[1],
    );
    expect([...registered].sort()).toEqual([...declared].sort());
  });

  it('do not coincide with those that VS Code makes for the view', () => {
    for (const id of contributes.views.tierline.map((view: { id: string }) => view.id)) {
      expect(declared).not.toContain(id);
      for (const verb of ['focus', 'open', 'removeView', 'resetViewLocation', 'toggleVisibility']) {
        expect(serverCommands).not.toContain(`${id}.${verb}`);
      }
    }
  });

  it('in menus and key bindings exist', () => {
    const used = [...Object.values(contributes.menus).flat(), ...contributes.keybindings] as {
      command?: string;
      submenu?: string;
    }[];
    const submenus = contributes.submenus.map((one: { id: string }) => one.id);
    for (const { command, submenu } of used) {
      if (submenu === undefined) expect(declared).toContain(command);
      else expect(submenus).toContain(submenu);
    }
    for (const id of submenus) expect(Object.keys(contributes.menus)).toContain(id);
  });

  it('add one entry to menus of the editor that others use, too', () => {
    for (const place of ['explorer', 'editor', 'editor/title', 'editor/lineNumber']) {
      expect(contributes.menus[`${place}/context`], place).toHaveLength(1);
    }
  });
});

describe('the manifest', () => {
  it('has a text for every name, and no name too many', () => {
    const used = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map((match) => match[1]);
    expect(new Set(used)).toEqual(new Set(Object.keys(names)));
  });

  it('has every text of the host in the bundle for translators', async () => {
    expect(read('l10n/bundle.l10n.json')).toBe(await bundle());
  });

  it('names files that exist', () => {
    const files = [
      manifest.icon,
      contributes.viewsContainers.activitybar[0].icon,
      'README.md',
      'LICENSE',
    ];
    for (const file of files) expect(existsSync(path.join(root, file)), file).toBe(true);
  });

  it('declares every setting that goes to the server, and never a key', () => {
    const settings = Object.keys(properties);
    for (const name of Object.keys(SERVER_SETTINGS)) expect(settings).toContain(`tierline.${name}`);
    // The path of a file, as other tools have it.
    const files = ['tierline.clientKey'];
    expect(settings.filter((name) => /key|token$|secret|password/i.test(name))).toEqual(files);
  });

  it('lets no untrusted workspace choose programs or addresses', () => {
    const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    for (const name of ['python', 'serverPath', 'baseUrl', 'provider', 'localModelPath']) {
      expect(restrictedConfigurations).toContain(`tierline.${name}`);
    }
  });

  it('lets no workspace say where keys and prompts go', () => {
    expect(properties['tierline.baseUrl']?.scope).toBe('machine');
  });

  it('describes every setting, its values and its limits', () => {
    for (const [name, one] of Object.entries(properties)) {
      expect(one.markdownDescription, name).toMatch(/^%config\./);
      expect(one.scope, name).toMatch(/^(window|machine|machine-overridable)$/);
      expect(one, name).toHaveProperty('default');
      const values = (one.enum ?? []) as unknown[];
      expect((one.enumDescriptions ?? []) as unknown[], name).toHaveLength(values.length);
      if (/^(integer|number)$/.test(String(one.type))) expect(one, name).toHaveProperty('minimum');
    }
  });

  it('has a walkthrough whose pictures, commands and events exist', () => {
    const [walkthrough] = contributes.walkthroughs;
    const titles = walkthrough.steps.map((step: { id: string }) => step.id);
    expect(titles).toEqual(['provider', 'pin', 'budget', 'ask', 'cache']);
    const contexts = read('src/extension/decorations.ts');
    for (const step of walkthrough.steps) {
      const file = step.media.image ?? step.media.markdown;
      expect(existsSync(path.join(root, file)), file).toBe(true);
      const text: string = names[step.description.slice(1, -1)];
      const linked = [...text.matchAll(/\(command:([\w.]+)\)/g)].map((match) => match[1]);
      const events: string[] = step.completionEvents;
      const awaited = events
        .filter((one) => one.startsWith('onCommand:'))
        .map((one) => one.slice(10));
      for (const id of [...linked, ...awaited]) expect(declared).toContain(id);
      for (const one of events.filter((name) => name.startsWith('onContext:'))) {
        expect(contexts).toContain(`'${one.slice(10)}'`);
      }
      expect(events.length).toBeGreaterThan(0);
    }
  });

  it('has a page for the marketplace whose pictures are in the package', () => {
    const page = read('README.md');
    const pictures = [...page.matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)];
    expect(pictures.length).toBeGreaterThan(2);
    for (const [, words, file] of pictures) {
      expect(words?.length).toBeGreaterThan(10);
      expect(existsSync(path.join(root, file ?? '')), file).toBe(true);
      expect(file).toMatch(/^media\/.*\.png$/); // the marketplace shows no SVG
    }
    const links = [...page.matchAll(/(?<!!)\[[^\]]+\]\(([^)]+)\)/g)].map((match) => match[1]);
    for (const link of links) expect(existsSync(path.join(root, link ?? '')), link).toBe(true);
  });

  it('puts the pictures of that page inside it, where no path or host is needed', async () => {
    const made = await page();
    expect(made).not.toMatch(/\]\(media\//);
    expect(made.match(/\]\(data:image\/png;base64,iVBOR/g)?.length).toBeGreaterThan(2);
    expect(made.length).toBeLessThan(4_000_000);
    expect(manifest.scripts.package).toContain('--readme-path dist/README.md');
  });

  it('asks for no newer editor than its types describe', () => {
    const engine = /\d+\.\d+/.exec(manifest.engines.vscode)?.[0];
    expect(manifest.devDependencies['@types/vscode']).toMatch(new RegExp(`^[~^]?${engine}\\.`));
  });

  it('is locked by hashes, without the host of a registry', () => {
    const lock = JSON.parse(read('package-lock.json'));
    const entries = Object.entries<{ resolved?: string; integrity?: string; link?: boolean }>(
      lock.packages,
    );
    for (const [name, entry] of entries) {
      expect(entry.resolved, name).toBeUndefined();
      if (name !== '') expect(entry.integrity, name).toMatch(/^sha\d+-/);
    }
  });
});

describe('the style sheet', () => {
  it('uses the colours of the theme only', () => {
    const folder = path.join(root, 'src/webview');
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sheets = names.filter((name) => name.endsWith('.css'));
    expect(sheets.length).toBeGreaterThan(8);
    const all = sheets.map((name) => readFileSync(path.join(folder, name), 'utf8')).join('\n');
    const css = all.replace(/\/\*[\s\S]*?\*\//g, '');
    expect(css).not.toMatch(/#[0-9a-f]{3,8}\b(?![^{]*\{)|rgba?\(|hsla?\(|url\(/i);
  });

  it('is the only place for styles: no element has one of its own', () => {
    const folder = path.join(root, 'src/webview/components');
    for (const name of readdirSync(folder)) {
      expect(readFileSync(path.join(folder, name), 'utf8'), name).not.toMatch(
        / style=|dangerouslySetInnerHTML|innerHTML/,
      );
    }
  });
});
