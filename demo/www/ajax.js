// The three calls of the Prototype framework that the Product Spy uses.
function $(id) {
  return document.getElementById(id);
}

var Ajax = {
  Request: function (url, options) {
    var request = new XMLHttpRequest();
    function failed() {
      if (options.onFailure) {
        options.onFailure(request);
      }
    }
    request.open(options.method || 'post', url);
    request.onload = function () {
      if (request.status < 200 || request.status >= 300) {
        failed();
      } else if (options.onSuccess) {
        options.onSuccess(request);
      }
    };
    request.onerror = failed;
    request.send();
  }
};

var Insertion = {
  Top: function (id, html) {
    $(id).insertAdjacentHTML('afterbegin', html);
  }
};

// Text of a publisher, safe inside HTML and attributes.
function text(value) {
  return String(value === undefined ? '' : value).replace(/[&<>"']/g, function (c) {
    return '&#' + c.charCodeAt(0) + ';';
  });
}
