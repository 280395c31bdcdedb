// JupyterLab follows a link to a cell inside of a notebook, but not in its own address, where the book's links come in.
// This file is what a bundler would make of one plugin without dependencies: a container that JupyterLab asks for it.
(() => {
  const asked = location.hash; // before the workspace's own address takes its place
  const plugin = {
    id: "qkv-cells:plugin",
    autoStart: true,
    activate: (app) => {
      const path = /\/tree\/([^?#]+)/.exec(location.pathname);
      if (path && asked.startsWith("#cell-id=")) {
        app.restored.then(() =>
          app.commands.execute("rendermime:handle-local-link", { path: decodeURIComponent(path[1]), id: asked })
        );
      }
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["qkv-cells"] = { init: () => {}, get: async () => () => ({ __esModule: true, default: plugin }) };
})();
