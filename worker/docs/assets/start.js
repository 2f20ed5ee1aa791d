// Starts Swagger UI with the document of this gateway. A file of its own, because the page allows no inline script.
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const followColors = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followColors)
followColors()

window.addEventListener('load', () => {
  window.ui = window.SwaggerUIBundle({
    // Each operation once; `openapi.json` lists it at each of its paths.
    url: 'docs/operations.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    // The default sends the document to a service on the internet.
    validatorUrl: null,
    // The query of the page must not be able to load another document.
    queryConfigEnabled: false,
    persistAuthorization: false,
    displayRequestDuration: true,
    filter: true,
    // The schemas are behind the operations, folded.
    defaultModelsExpandDepth: 0
  })
})
