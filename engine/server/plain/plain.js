// The plain page: sends what is written and shows what comes back.
const element = (id) => document.getElementById(id);

fetch('/console.json')
  .then((response) => response.json())
  .then(({ sources, example }) => {
    element('sources').textContent = sources.map((source) => `${source.name} (${source.database})`).join(', ');
    element('query').value = example;
  });

async function run(event) {
  event?.preventDefault();
  const request = { query: element('query').value };
  try {
    const variables = element('variables').value.trim();
    if (variables) request.variables = JSON.parse(variables);
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(request),
    });
    element('response').textContent = JSON.stringify(await response.json(), null, 2);
  } catch (error) {
    element('response').textContent = String(error);
  }
}

element('request').addEventListener('submit', run);
element('request').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run(event);
});
