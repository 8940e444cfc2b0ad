/** The extension's entry: puts the parts together and registers the commands. */
import * as vscode from 'vscode';
import type { EditReviewParams } from '../protocol';
import { speak } from '../shared/l10n';
import { ActiveEditor } from './activeEditor';
import { Back } from './back';
import { CacheView } from './cacheView';
import { exportCharts } from './chartExport';
import { ChatView } from './chatView';
import { CodeActions } from './code/actions';
import { InlineAsk } from './code/inlineAsk';
import { Proposals } from './code/proposals';
import { cycleMode } from './commands';
import { compactNow } from './compaction';
import { ContextTree } from './contextTree';
import { ContextViews } from './contextViews';
import { Decorations } from './decorations';
import { VirtualDocuments } from './documents';
import { Edits } from './edits';
import { Elsewhere } from './elsewhere';
import { exportSession, importSession } from './exchange';
import { Files } from './files';
import { Keys } from './keys';
import { language } from './language';
import { LanguageModels } from './languageModels';
import { Memos } from './memos';
import { Mentions } from './mentions/mentions';
import { MentionMenus } from './mentions/menus';
import { Provide } from './mentions/provide';
import { Terminals } from './mentions/terminals';
import { Models } from './models';
import { Notes } from './notes';
import * as notify from './notify';
import { ServerController } from './server/controller';
import { describeError } from './server/errors';
import { Session } from './session';
import { Sessions } from './sessions';
import { SettingsCheck } from './settings';
import { SlashCommands } from './slash';
import { StatusBar } from './statusBar';
import { readyFor } from './waiting';
import { ModelWays } from './ways';
import { openWalkthrough, welcome } from './welcome';

let server: ServerController | undefined;

export function activate(context: vscode.ExtensionContext): void {
  speak(language());
  const log = vscode.window.createOutputChannel('Tierline', { log: true });
  server = new ServerController(context, log);
  const controller = server;
  const session = new Session(controller, log);
  const keys = new Keys(context.secrets, controller, log);
  const models = new Models(session, context.globalState, log, keys);
  const files = new Files(session);
  const documents = new VirtualDocuments();
  const views = new ContextViews(session, documents);
  const sessions = new Sessions(session, documents);
  const cache = new CacheView(context.extensionUri, session, documents, log);
  const notes = new Notes(session, documents);
  const memos = new Memos(session);
  const tree = new ContextTree(session, documents);
  const active = new ActiveEditor(context.workspaceState);
  const mentions = new Mentions(session, documents);
  const terminals = new Terminals();
  const provide = new Provide(terminals);
  const chat = new ChatView(
    context.extensionUri,
    session,
    files,
    sessions,
    mentions,
    new SlashCommands(session, sessions, notes, documents),
    views,
    active,
    documents,
    log,
  );
  controller.beforeReady = () => keys.sendAll();
  const editorModels = new LanguageModels();
  const edits = new Edits(session);
  chat.edits = edits;
  chat.ways = new ModelWays(session, keys, models);
  models.onPage = () => chat.visible && (session.model?.messages.length ?? 0) === 0;
  const code = new CodeActions(chat, mentions);
  const inline = new InlineAsk(chat);
  const back = new Back(session, chat);
  const proposals = new Proposals(session);
  const menus = new MentionMenus(chat, mentions, terminals);
  controller.onClient = (client) => {
    editorModels.attach(client);
    edits.attach(client);
    provide.attach(client);
  };
  context.subscriptions.push(
    ...[log, controller, session, keys, documents, notes, memos, chat, cache, edits, tree],
    ...[mentions, terminals, code, inline, proposals],
    new SettingsCheck(),
    new StatusBar(session),
    new Elsewhere(session, chat),
    new Decorations(session),
    controller.onConnection(({ kind }) => {
      if (kind === 'ready') void models.offerFound();
    }),
  );

  const commands: Record<string, (...args: unknown[]) => unknown> = {
    'tierline.focusChat': () => chat.focus(),
    'tierline.newSession': async () => {
      if (await sessions.create()) await chat.focus();
    },
    'tierline.sessions': () => sessions.browse(),
    'tierline.renameSession': () => sessions.rename(),
    'tierline.exportSession': () => exportSession(session),
    'tierline.importSession': async () => {
      await importSession(session);
      await chat.focus();
    },
    'tierline.undo': () => sessions.undo(),
    'tierline.compact': () => compactNow(session),
    'tierline.restoreTurn': () => sessions.restore(),
    'tierline.switchBranch': () => sessions.branches(),
    'tierline.compareBranches': () => sessions.compare(),
    'tierline.openScratchpad': () => notes.openScratchpad(),
    'tierline.openState': () => notes.openState(),
    'tierline.rebuildState': () => notes.rebuild(),
    'tierline.newMemo': () => memos.create(),
    'tierline.searchMemos': () => memos.search(),
    'tierline.editMemo': (node) => memos.edit(node),
    'tierline.deleteMemo': (node) => memos.remove(node),
    'tierline.pinFile': (uri, uris) => files.command('pin', uri, uris),
    'tierline.unpinFile': (uri, uris) => files.command('unpin', uri, uris),
    'tierline.addFile': (uri, uris) => files.command('add', uri, uris),
    'tierline.removeFile': (uri, uris) => files.command('remove', uri, uris),
    'tierline.addWebPage': () => tree.addPage(),
    'tierline.pinItem': (node) => tree.act('pin', node),
    'tierline.unpinItem': (node) => tree.act('unpin', node),
    'tierline.removeItem': (node) => tree.act('remove', node),
    'tierline.acceptPin': (node) => tree.act('accept', node),
    'tierline.dismissPin': (node) => tree.act('dismiss', node),
    'tierline.refreshPage': (node) => tree.act('refresh', node),
    'tierline.revealItem': (node) => tree.reveal(node),
    'tierline.askSelection': (place) => code.run('ask', place),
    'tierline.explain': (place) => code.run('explain', place),
    'tierline.fix': (place) => code.run('fix', place),
    'tierline.writeTests': (place) => code.run('writeTests', place),
    'tierline.document': (place) => code.run('document', place),
    'tierline.inlineAsk': (place) => inline.run(place),
    'tierline.takePart': (id, hunk) => proposals.choose(id, hunk, true),
    'tierline.leavePart': (id, hunk) => proposals.choose(id, hunk, false),
    'tierline.goBack': (group) => back.toPrompt(group),
    'tierline.goForward': () => back.forward(),
    'tierline.keepEdits': (id, hunk) => edits.review('keep', part(id, hunk)),
    'tierline.undoEdits': (id, hunk) => edits.review('undo', part(id, hunk)),
    'tierline.mentionFile': (uri, uris) => menus.files(uri, uris),
    'tierline.mentionChanges': () => menus.mention('@git:changes'),
    'tierline.mentionProblems': () => menus.mention('@problems'),
    'tierline.addTerminal': () => menus.terminal('output'),
    'tierline.addTerminalSelection': () => menus.terminal('selection'),
    'tierline.explainContext': (uri, uris) => views.explain(uri, uris),
    'tierline.showContext': () => views.showContext(),
    'tierline.showCache': () => cache.show(),
    'tierline.explainCache': () => cache.explain(),
    'tierline.exportCharts': () => exportCharts(session),
    'tierline.walkthrough': () => openWalkthrough(context.extension.id),
    'tierline.cycleMode': () => cycleMode(session),
    'tierline.stop': () => controller.request('tierline/chat/cancel', {}),
    'tierline.showBudget': () => views.showBudget(),
    'tierline.selectModel': () => models.select(),
    'tierline.setApiKey': () => keys.set(),
    'tierline.clearApiKey': () => keys.clear(),
    'tierline.acceptEdit': (uri) => edits.command('accept', uri),
    'tierline.rejectEdit': (uri) => edits.command('reject', uri),
    'tierline.previewEdit': (uri) => edits.command('preview', uri),
    'tierline.answerConsent': () => edits.answer(),
    'tierline.allowedCommands': () => edits.manageCommands(),
    'tierline.setUpAnew': () => controller.setUpAnew(),
    'tierline.installModel': () => controller.installModel(),
    'tierline.restart': () => controller.restart(),
    'tierline.showLog': () => log.show(),
  };
  for (const [id, run] of Object.entries(commands)) {
    context.subscriptions.push(
      vscode.commands.registerCommand(id, async (...args: unknown[]) => {
        try {
          await readyFor(id, controller);
          await run(...args);
        } catch (error) {
          const { message, advice } = describeError(error);
          log.error(`${id}: ${message}`);
          void notify.error(`${message} ${advice}`.trim());
        }
      }),
    );
  }
  void controller.start();
  void welcome(context.extension.id, context.globalState);
}

/** An edit, or a part of one, as a lens in the editor names it; from the palette nothing is named. */
function part(id: unknown, hunk: unknown): EditReviewParams {
  if (typeof id !== 'string') return {};
  return { id, hunks: typeof hunk === 'number' ? [hunk] : [] };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
