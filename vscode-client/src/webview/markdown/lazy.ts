/** Parts of the package that are loaded when a reply first needs them; never from the network. */

const loads = new Map<string, Promise<void>>();
const script = document.currentScript as HTMLScriptElement | null;

/** ``dist/name.js`` as a script that the page's policy allows. */
export function loadScript(name: string): Promise<void> {
  return once(`${name}.js`, (done, failed) => {
    const element = document.createElement('script');
    element.nonce = script?.nonce ?? '';
    element.src = beside(`${name}.js`);
    element.onload = done;
    element.onerror = failed;
    document.head.append(element);
  });
}

export function loadStyle(name: string): Promise<void> {
  return once(`${name}.css`, (done, failed) => {
    const element = document.createElement('link');
    element.rel = 'stylesheet';
    element.href = beside(`${name}.css`);
    element.onload = done;
    element.onerror = failed;
    document.head.append(element);
  });
}

function once(file: string, load: (done: () => void, failed: () => void) => void): Promise<void> {
  let found = loads.get(file);
  if (found === undefined) {
    found = new Promise((resolve, reject) => {
      load(resolve, () => {
        loads.delete(file);
        reject(new Error(file));
      });
    });
    loads.set(file, found);
  }
  return found;
}

function beside(file: string): string {
  return new URL(file, script?.src || document.baseURI).href;
}
