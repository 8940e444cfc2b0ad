/** The files of the context as chips: which, pinned or not, and what is wrong with them. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FileInfo } from '../../protocol';
import { tokens } from '../../shared/budget';
import { labels } from '../../shared/labels';
import { tierWords } from '../../shared/tierWords';
import type { Store } from '../store';
import { texts } from '../texts';
import { Icon, IconButton } from './parts';

const SHOWN = 5;

export function FileChips(props: {
  files: readonly FileInfo[];
  roots: readonly string[];
  store: Store;
}): JSX.Element | null {
  const { files, roots, store } = props;
  const [all, setAll] = useState(false);
  if (files.length === 0) return null;
  const names = labels(
    files.map(({ path }) => path),
    roots,
  );
  const { folders, single } = grouped(files);
  const shown = all ? single : single.slice(0, Math.max(SHOWN - folders.length, 1));
  return (
    <ul class="chips" aria-label={texts.files}>
      {folders.map(([folder, inside]) => (
        <FolderChip key={`folder ${folder}`} folder={folder} files={inside} store={store} />
      ))}
      {shown.map((file) => (
        <FileChip
          key={file.uri || file.path}
          file={file}
          name={names.get(file.path) ?? file.path}
          store={store}
        />
      ))}
      {single.length > Math.max(SHOWN - folders.length, 1) && (
        <li>
          <button type="button" class="chip more" onClick={() => setAll(!all)}>
            {all ? texts.fewerFiles : texts.moreFiles(single.length - shown.length)}
          </button>
        </li>
      )}
    </ul>
  );
}

/** Files that came with a folder are one entry; one that was pinned by itself stands by itself. */
function grouped(files: readonly FileInfo[]): {
  folders: [string, FileInfo[]][];
  single: FileInfo[];
} {
  const folders = new Map<string, FileInfo[]>();
  const single: FileInfo[] = [];
  for (const file of files) {
    // An older server does not say.
    if (!file.folder || file.pin !== 'none') single.push(file);
    else folders.set(file.folder, [...(folders.get(file.folder) ?? []), file]);
  }
  return { folders: [...folders], single };
}

function FolderChip(props: {
  folder: string;
  files: readonly FileInfo[];
  store: Store;
}): JSX.Element {
  const { folder, files, store } = props;
  const name = `${folder.replace(/\/$/, '')}/`;
  const sum = tokens(files.reduce((all, file) => all + file.tokens, 0));
  return (
    <li class="chip file folder" data-testid="folder-chip" data-path={folder}>
      <button
        type="button"
        class="chip-name"
        title={[name, texts.filesInside(files.length), texts.weight(sum)].join(' · ')}
        onClick={() => store.post({ type: 'openMention', kind: 'folder', text: `@${name}` })}
      >
        <Icon name="folder" />
        <span>{name}</span>
        <span class="chip-size">{sum}</span>
      </button>
      <IconButton
        icon="close"
        label={texts.remove(name)}
        onClick={() => store.post({ type: 'file', verb: 'remove', path: folder })}
      />
    </li>
  );
}

function FileChip(props: { file: FileInfo; name: string; store: Store }): JSX.Element {
  const { file, name, store } = props;
  const pinned = file.pin !== 'none';
  const act = (verb: 'pin' | 'unpin' | 'remove' | 'open') => (): void =>
    store.post({ type: 'file', verb, path: file.path });
  return (
    <li
      class={`chip file ${file.state}`}
      data-testid="file-chip"
      data-path={file.path}
      data-pin={file.pin}
      data-state={file.state}
    >
      <IconButton
        icon={pinned ? 'pinned' : 'pin'}
        class={pinned ? 'on' : ''}
        label={pinned ? texts.unpin(file.path) : texts.pin(file.path)}
        onClick={act(pinned ? 'unpin' : 'pin')}
      />
      <button type="button" class="chip-name" title={tip(file)} onClick={act('open')}>
        {(file.state !== 'ok' || file.code === 'cut') && <Icon name="warning" />}
        <span>{name}</span>
        {file.dirty && <span class="dirty">●</span>}
      </button>
      <IconButton icon="close" label={texts.remove(file.path)} onClick={act('remove')} />
    </li>
  );
}

function tip(file: FileInfo): string {
  const parts = [file.path, texts.weight(tokens(file.tokens))];
  if (file.pin !== 'none') parts.push(texts.held[file.pin]);
  if (file.tier !== '') parts.push(tierWords(file.tier));
  if (file.dirty) parts.push(texts.unsaved);
  if (file.reason !== '') parts.push(file.reason);
  return parts.join(' · ');
}
